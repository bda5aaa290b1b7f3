# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulation_interfaces: worlds, which are scene files; loaded beside the physics thread, then put in its place."""

import dataclasses
import threading
from pathlib import Path
from typing import Any

import yaml

from mb_contact.checks import shorten
from mb_contact.errors import MbContactError
from mb_contact.model.scene.reader import LOADER, SDF
from mb_contact.model.sdf.world import world_in
from mb_contact.ros.services.common import Group, Refusal, refuse_if, tags_match
from mb_contact.ros.services.files import AllowedFiles, NotAllowed, confined
from mb_contact.ros.services.requests import Request
from mb_contact.ros.services.resources import Source, scene_of_text, source_of
from mb_contact.ros.services.spawning import MOST_SOURCES

ENDINGS = (".yaml", ".yml", *SDF)
LOADING, UNLOADED = "a world is being loaded", "no world is loaded: call load_world first"


@dataclasses.dataclass(frozen=True)
class Heading:
    """What a scene file says of itself: the keys ``description`` and ``tags``, or its first comments."""

    description: str = ""
    tags: tuple[str, ...] = ()


class WorldServices(Group):
    """Load and unload worlds, tell which there are and which one is loaded.

    Parameters
    ----------
    simulator_node : SimulatorNode
    files : AllowedFiles
    begun : callable
        Called on the physics thread when another world has taken the place of the former.
    """

    def __init__(self, simulator_node: Any, files: AllowedFiles, begun: Any) -> None:
        super().__init__(simulator_node)
        self._files, self._begun = files, begun
        self._text = ""  #: of a world that has no file
        self._headings: dict[Path, tuple[tuple[int, int], Heading | None]] = {}
        self._offer(
            LoadWorld=self._load, UnloadWorld=self._unload, GetCurrentWorld=self._get_current,
            GetAvailableWorlds=self._get_available,
        )  # fmt: skip

    # --- loading ----------------------------------------------------------------------------------
    async def _load(self, request, answer):
        """The former world stands still meanwhile, and goes on as it was where the new one cannot be loaded."""
        codes, control = type(answer), self._control
        with self._outcome(answer):
            resource = getattr(request, "world_resource", request)
            source = source_of(resource.uri, resource.resource_string, self._files, codes, ENDINGS)
            former = control.ask(self._begin_loading)
            try:
                load = Request(lambda: self._simulator(source, codes))
                threading.Thread(target=load.run, name="world loader", daemon=True).start()
                simulator = await load.later()
                control.ask(lambda: self._put_in_place(simulator, source))
            except MbContactError:
                control.ask(lambda: self._give_up(*former))
                raise
            self._fill_current(answer.world)
        return answer

    def _begin_loading(self):
        control = self._control
        refuse_if(control.loading, self._codes.RESULT_INCORRECT_STATE, LOADING)
        former = control.paused, control.inactive
        control.do_pause(True)
        control.inactive, control.loading = LOADING, True
        return former

    def _give_up(self, paused, inactive):
        control = self._control
        control.inactive, control.loading = inactive, False
        if not paused:
            control.do_pause(False)

    def _put_in_place(self, simulator, source):
        control = self._control
        control.begin_world(simulator)  # raises before anything has changed
        control.inactive, control.loading = "", False
        self._text = "" if source.path is not None else source.text
        control.tell("world", uri=str(source.path or ""), text=self._text)
        self._begun()

    def _simulator(self, source, codes):
        """The simulator of a world and its sensors; on a thread of its own, since kernels may have to be compiled."""
        from mb_contact.simulation.simulator import Simulator
        from mb_contact.simulation.surfaces.simulator import simulator_of

        try:
            if source.path is not None:
                simulator = simulator_of(source.path)
            elif source.is_xml:
                simulator = Simulator(scene_of_text(source.text, self._files))
            else:
                words = yaml.load(source.text, Loader=LOADER)
                message = "the resource is neither an SDF nor a YAML mapping of a scene"
                refuse_if(not isinstance(words, dict), codes.UNSUPPORTED_FORMAT, message)
                simulator = Simulator(confined(scene_of_text(source.text), self._files))
            getattr(simulator, "sensors", None)  # large images have millions of rays
            return simulator
        except NotAllowed as error:
            raise Refusal(codes.MISSING_ASSETS, str(error)) from None
        except Refusal:
            raise
        except FileNotFoundError as error:
            raise Refusal(codes.MISSING_ASSETS, str(error)) from None
        except (MbContactError, yaml.YAMLError, ValueError, RecursionError) as error:
            raise Refusal(codes.RESOURCE_PARSE_ERROR, " ".join(str(error).split())) from None

    # --- unloading --------------------------------------------------------------------------------
    def _unload(self, request, answer):
        code = type(answer).NO_WORLD_LOADED

        def act():
            from mb_contact.model.scene import Scene
            from mb_contact.simulation.simulator import Simulator

            control = self._control
            refuse_if(control.inactive, self._codes.RESULT_INCORRECT_STATE if control.loading else code,
                      control.inactive)  # fmt: skip
            control.do_pause(True)
            control.begin_world(Simulator(Scene(time_step=control.simulator.time_step)))
            control.inactive = UNLOADED
            control.tell("world", uri="", text="")
            self._text = ""
            self._begun()

        return self._on_physics(answer, act)

    # --- which there are --------------------------------------------------------------------------
    def _get_current(self, request, answer):
        def act():
            refuse_if(self._control.inactive == UNLOADED, type(answer).NO_WORLD_LOADED, UNLOADED)
            self._fill_current(answer.world)

        return self._on_physics(answer, act)

    def _fill_current(self, world):
        scene = self._control.simulator.scene
        path = getattr(scene, "path", None)
        heading = self._heading(Path(path)) if path is not None else None
        said = Heading(getattr(scene, "description", ""), tuple(getattr(scene, "tags", ())))
        self._fill(world, path, heading or said)

    def _fill(self, world, path, heading):
        if path is None:
            world.name, world.world_resource.resource_string = "scene", self._text
        else:
            world.name, world.world_resource.uri = Path(path).stem, Path(path).resolve().as_uri()
        world.description, world.tags = heading.description, list(heading.tags)

    def _get_available(self, request, answer):
        def act():
            named = {source: self._files.folder(source) for source in request.additional_sources[:MOST_SOURCES]}
            unknown = ", ".join(shorten(source) for source, folder in named.items() if folder is None)
            refuse_if(
                unknown and not request.continue_on_error, self._codes.RESULT_NOT_FOUND,
                f"no sources below the folders that files may be taken from: {unknown}",
            )
            folders = [*self._files.roots, *(folder for folder in named.values() if folder is not None)]
            worlds = []
            for path in self._files.listed(ENDINGS, folders):
                heading = self._heading(path)
                if heading is not None and tags_match(request.filter, heading.tags):
                    worlds.append(self._type("WorldResource")())
                    self._fill(worlds[-1], path, heading)
            answer.worlds = worlds

        return self._answered(answer, act)

    def _heading(self, path):
        """What a scene file says of itself, None where it is no scene; read once while it does not change."""
        try:
            about = path.stat()
            key = about.st_mtime_ns, about.st_size
            if self._headings.get(path, (None, None))[0] != key:
                self._headings[path] = key, heading_of(path) if about.st_size <= self._files.most else None
        except OSError:
            return None
        return self._headings[path][1]


def heading_of(path: Path) -> Heading | None:
    """What a file says of itself; None where it is no scene."""
    from mb_contact.model.scene.reader import SCENE_KEYS
    from mb_contact.surfaces.scene_file import is_surface_scene

    if path.suffix in SDF:
        name = world_in(path)
        return None if name is None else Heading(f"the SDF world '{name}'")
    try:
        text = path.read_text(encoding="utf-8")
        words = yaml.load(text, Loader=LOADER)
        if not isinstance(words, dict) or not (words.keys() <= SCENE_KEYS.keys() or is_surface_scene(path)):
            return None
    except (OSError, ValueError, yaml.YAMLError, MbContactError, RecursionError):
        return None
    tags = words.get("tags")
    return Heading(str(words.get("description") or _comments(text)), tuple(map(str, tags or ())))


def _comments(text):
    """The first block of comments without those for programs, as one line."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            if lines:
                break
            continue
        words = line.lstrip("# ")
        if words and not words.startswith(("Copyright", "SPDX", "yaml-language-server")):
            lines.append(words)
    return " ".join(lines)


__all__ = ["Source", "WorldServices", "heading_of"]
