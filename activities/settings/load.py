"""load_settings: every settings file of a folder, merged, with what became of each value."""

from pathlib import Path

from activities.settings.places import Places, roots_of
from activities.settings.reading import read_place
from activities.settings.scripts import with_scripts
from activities.settings.trust import agreed
from workflows.contracts.settings_files import LoadedSettings
from workflows.core.settings import merge


def load_settings(places: Places, folder: Path, roots: tuple[str, ...] = ()) -> LoadedSettings:
    """All that the files for a session in this folder say now; `roots` where they were fixed already.

    Never raises for what stands in a file: what is wrong is in `problems`, and in `broken` when nothing may run.
    """
    roots = roots or roots_of(folder)
    read = (read_place(place, places.user) for place in places.files(roots))
    signed = {root: agreed(places.home, root) for root in roots}
    return with_scripts(merge([layer for layer in read if layer], signed, roots), signed)
