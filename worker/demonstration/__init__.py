"""What `perdure demo` shows: a small broken project, a rehearsed model, and a killer."""
