"""What crosses a boundary: frozen values and their names, nothing that acts."""
