"""What a fit has to do with the world while it runs: a callback, a time limit, and a folder of finished steps to go on from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rmgl.atomic import clear_leftovers_in

if TYPE_CHECKING:
    from rmgl.views import Views

FORMAT = "rmgl checkpoint"
SUFFIX = ".step"
Result = TypeVar("Result")


def as_it_is(value: Any) -> Any:
    return value


class Run:
    """One fit. Steps with a checkpoint folder are written when they are done, and read in place of being done again.

    Steps are deterministic, and those that draw random numbers keep where the generator stood after them, so a run that goes on from
    any finished steps ends with the same numbers as one that was never stopped.
    """

    def __init__(
        self, callback: Callable[[dict[str, Any]], Any] | None = None, max_seconds: float | None = None, checkpoint: Any = None
    ) -> None:
        self.callback = callback
        self.max_seconds = max_seconds
        self.folder = None if checkpoint is None else Path(checkpoint)
        self.began = perf_counter()
        self.asked_to_stop = False

    def begin(self, parameters: dict[str, Any], views: Views, random_state: np.random.RandomState) -> None:
        """Open the checkpoint; refuse one of another run. A generator without a seed goes on where it stood."""
        if self.folder is None:
            return
        self.folder.mkdir(exist_ok=True)
        found = sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("."))
        foreign = [name for name in found if not name.endswith(SUFFIX)]
        if foreign:
            raise ValueError(
                f"checkpoint={str(self.folder)!r} holds {foreign[0]!r}, which is no part of a checkpoint: choose another folder"
            )
        own = fingerprint(parameters, views)
        if self.step("run", lambda: own, random_state=random_state) != own:
            raise ValueError(
                f"checkpoint={str(self.folder)!r} holds a run on other data or with other parameters or versions: "
                "choose another folder, or delete it"
            )

    def step(
        self,
        name: str,
        work: Callable[[], Result],
        *,
        pack: Callable[[Result], Any] = as_it_is,
        unpack: Callable[[Any], Result] = as_it_is,
        random_state: np.random.RandomState | None = None,
    ) -> Result:
        """The result of some work, from the checkpoint if it is there."""
        kept = self.kept(name, random_state)
        if kept is not None:
            return unpack(kept)
        result = work()
        self.keep(name, lambda: pack(result), random_state)
        return result

    def has(self, name: str) -> bool:
        """Whether the checkpoint has a step."""
        return self.folder is not None and (self.folder / f"{name}{SUFFIX}").exists()

    def kept(self, name: str, random_state: np.random.RandomState | None = None) -> Any:
        """What was kept under a name, None if there is nothing."""
        if self.folder is None or not self.has(name):
            return None
        from rmgl.archive import read_archive

        try:
            content = read_archive(self.folder / f"{name}{SUFFIX}", format=FORMAT)
        except ValueError as error:
            raise ValueError(f"{error}; delete the file, and the step is done again") from error
        if random_state is not None:
            random_state.set_state(content["random_state"])
        return content["result"]

    def keep(self, name: str, packed: Callable[[], Any], random_state: np.random.RandomState | None = None) -> None:
        """Keep something under a name, in place of what was there."""
        if self.folder is None:
            return
        from rmgl.archive import write_archive

        state = None if random_state is None else random_state.get_state()
        write_archive(self.folder / f"{name}{SUFFIX}", {"result": packed(), "random_state": state}, format=FORMAT)

    def tell(self, row: dict[str, Any]) -> None:
        """Tell the callback what is done; it may ask to stop by returning True."""
        if self.callback is not None:
            answer = self.callback({**row, "seconds": self.seconds})
            self.asked_to_stop |= isinstance(answer, bool | np.bool_) and bool(answer)

    @property
    def seconds(self) -> float:
        return perf_counter() - self.began

    @property
    def over(self) -> bool:
        """Whether to come to an end with what there is."""
        return self.asked_to_stop or (self.max_seconds is not None and self.seconds >= self.max_seconds)


def remove_checkpoint(folder: Path) -> None:
    """Delete the steps of a finished run, and the folder if nothing else is in it."""
    clear_leftovers_in(folder)  # of a process that was killed
    for path in folder.glob(f"*{SUFFIX}"):
        path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def fingerprint(parameters: dict[str, Any], views: Views) -> str:
    """A number that differs for other parameters, data or versions."""
    from rmgl import __version__
    from rmgl.archive import encode

    arrays: list[np.ndarray] = []
    described = encode({**parameters, "views": views, "versions": [__version__, np.__version__]}, arrays)
    digest = hashlib.sha256(json.dumps(described).encode())
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
