"""End the networks of sessions that outlive a worker: `perdure down` leaves none behind."""

from activities.safety.sandbox import network
from activities.stores.home import Home
from activities.stores.journal import Journal


def end_networks(home: Home) -> None:
    """End every network of this home's sessions; one that is needed again is made again."""
    for session in Journal(home.journal).sessions():
        for folder in network.all_of(home.journal / session / "sandbox"):
            network.end(folder)
