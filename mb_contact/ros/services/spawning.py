# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulation_interfaces: entities that come and go (releases 1.x and 2.x)."""

from typing import Any

from mb_contact.checks import shorten
from mb_contact.errors import MbContactError
from mb_contact.model.scene import Pose
from mb_contact.model.sdf.world import world_in
from mb_contact.ros.services.common import Group, Refusal, refuse_if
from mb_contact.ros.services.files import AllowedFiles
from mb_contact.ros.services.frames import in_world, pose_of
from mb_contact.ros.services.patterns import Pattern
from mb_contact.ros.services.resources import entries, source_of, with_entity, without

_NAME = Pattern(r"^[A-Za-z][A-Za-z0-9_./-]*$")
_LONGEST = 255  #: name [characters]
MOST_SOURCES = 100  #: further places that one request may name
ROBOTS = (".urdf", ".sdf")  #: endings of files that are listed


class SpawningServices(Group):
    """Spawn, delete, and what can be spawned.

    Parameters
    ----------
    simulator_node : SimulatorNode
    entities : EntityServices
    files : AllowedFiles
    """

    def __init__(self, simulator_node: Any, entities: Any, files: AllowedFiles) -> None:
        super().__init__(simulator_node)
        self._entities, self._files = entities, files
        self.begin()
        self._offer(
            SpawnEntity=self._spawn, SpawnEntities=self._spawn_many, DeleteEntity=self._delete,
            GetSpawnables=self._get_spawnables,
        )  # fmt: skip

    def begin(self) -> None:
        """The simulator's scene is what a reset goes back to."""
        self._spawned: list[str] = []
        self._scene = self._control.simulator.scene

    @property
    def can_rebuild(self) -> bool:
        """Whether bodies can be added to this simulator and taken away."""
        return getattr(self._control.simulator, "can_rebuild", False)

    def _check_rebuild(self):
        self._refuse_inactive()
        refuse_if(
            not self.can_rebuild, self._codes.RESULT_FEATURE_UNSUPPORTED,
            "bodies cannot be added to this kind of scene while it runs",
        )

    # --- spawning ---------------------------------------------------------------------------------
    def _spawn(self, request, answer):
        resource = getattr(request, "entity_resource", request)
        return self._spawned_as(request, resource, answer)

    def _spawn_many(self, request, answer):
        """Each by itself, in their order: those that can be spawned are, whatever becomes of the others."""
        results = []
        for wanted in request.spawn_requests:
            results.append(self._type("SpawnResult")())
            self._spawned_as(wanted, wanted.entity_resource, results[-1])
        answer.results = results
        failed = sum(entry.result.result != self._codes.RESULT_OK for entry in results)
        answer.result.result = answer.ENTITIES_SPAWN_FAILED if failed else self._codes.RESULT_OK
        answer.result.error_message = f"{failed} of {len(results)} were not spawned: see results" if failed else ""
        return answer

    def _spawned_as(self, request, resource, answer):
        """Spawn one entity and fill in its result and name."""
        codes = type(answer)

        def prepare():
            """The text is read here, so that the physics thread waits for the new world alone."""
            self._refuse_inactive()
            return source_of(resource.uri, resource.resource_string, self._files, codes)

        def act(source):
            self._check_rebuild()
            most = self._control.options.spawn_limit
            message = f"{most} entities have been spawned, and no more are (parameter spawn_limit)"
            refuse_if(len(self._spawned) >= most, self._codes.RESULT_OPERATION_FAILED, message)
            name = self._free_name(request, source.name, codes)
            refuse_if(
                request.entity_namespace, codes.NAMESPACE_INVALID,
                "entities have no interfaces of their own: leave the namespace empty",
            )
            stamped = request.initial_pose
            bad = codes.INVALID_POSE
            position, quaternion, _ = in_world(
                self._control, stamped.header.frame_id, pose_of(stamped.pose, bad), bad
            )
            pose = Pose(tuple(position.tolist()), quat_xyzw=tuple(quaternion.tolist()))
            scene = self._control.simulator.scene
            wanted = with_entity(source, name, pose, scene, codes, self._files)
            try:
                self._control.replace_simulator(_tried(self._control.simulator.rebuilt(wanted)))
            except MbContactError as error:
                raise Refusal(codes.RESOURCE_PARSE_ERROR, str(error)) from None
            self._spawned.append(name)
            path = None if source.path is None else str(source.path)
            self._control.tell(
                "spawn", name=name, position=position, quaternion=quaternion, uri=path or "", text=source.text
            )
            answer.entity_name = name

        def fill():
            source = prepare()
            self._control.ask(lambda: act(source))

        return self._answered(answer, fill)

    def _free_name(self, request, own, codes):
        """The entity's name, changed where it is taken and may be changed."""
        name = request.name or own or ("object" if request.allow_renaming else "")
        refuse_if(
            len(name) > _LONGEST or not _NAME.search(name), codes.NAME_INVALID,
            f"'{shorten(name)}' is no name; begin with a letter, then letters, digits, _ - . /, {_LONGEST} at most",
        )
        simulator = self._control.simulator
        mounted = (frame for sensor in simulator.sensors.names for frame in simulator.sensors.frames(sensor))
        taken = {*self._entities.entities(), *simulator.world.frames, *mounted, "world", "ground"}
        if name not in taken:
            return name
        refuse_if(
            not request.allow_renaming, codes.NAME_NOT_UNIQUE,
            f"there is a body or a frame '{name}' already; allow_renaming would help",
        )
        number = 1
        while f"{name}_{number}" in taken:
            number += 1
        return f"{name}_{number}"

    def _get_spawnables(self, request, answer):
        """Files of the allowed folders; what is named besides has to lie below them."""

        def act():
            refuse_if(not self.can_rebuild, self._codes.RESULT_FEATURE_UNSUPPORTED, "nothing can be spawned here")
            named = {source: self._files.folder(source) for source in request.sources[:MOST_SOURCES]}
            unknown = [shorten(source) for source, folder in named.items() if folder is None]
            folders = [folder for folder in named.values() if folder is not None]
            found = []
            for path in self._files.listed(ROBOTS, [*self._files.roots, *folders]):
                if path.suffix == ".sdf" and world_in(path) is not None:
                    continue
                found.append(self._type("Spawnable")())
                resource = getattr(found[-1], "entity_resource", found[-1])
                resource.uri, found[-1].description = path.as_uri(), f"{path.stem} ({path.suffix[1:].upper()})"
            answer.spawnables = found
            if unknown:
                answer.result.error_message = f"no sources: {', '.join(unknown)}"

        return self._answered(answer, act)

    # --- deleting ---------------------------------------------------------------------------------
    def _delete(self, request, answer):
        def act():
            self._check_rebuild()
            self._entities.find(request.entity)
            self._remove([request.entity])

        return self._on_physics(answer, act)

    def _remove(self, names):
        """Rebuild the world without these objects."""
        scene, robots = self._control.simulator.scene, self._control.simulator.world.robot_models
        models = entries(scene, robots)
        for name in names:
            refuse_if(
                name in models and models[name].name not in self._spawned, self._codes.RESULT_OPERATION_FAILED,
                f"'{name}' is a robot of the scene: only objects and what was spawned can be deleted",
            )
        self._rebuild(without(scene, robots, names))
        self._control.tell("delete", names=list(names))
        self._spawned = [name for name in self._spawned if name not in names]

    def _rebuild(self, scene):
        self._control.replace_simulator(self._control.simulator.rebuilt(scene))

    def restore(self) -> None:
        """Delete what was spawned and bring back what was deleted of the scene; on the physics thread."""
        self._entities.forget()
        if self._control.simulator.scene is not self._scene:
            self._rebuild(self._scene)
            self._control.tell("restore")
            self._spawned = []

    def remove_spawned(self) -> None:
        """Delete everything that was spawned; on the physics thread."""
        if self._spawned:
            self._remove(list(self._spawned))


def _tried(simulator):
    """The simulator itself, which has taken a step and gone back, so that what cannot be simulated is refused.

    Raises
    ------
    DynamicsError
        The step is impossible.
    """
    state = simulator.save()
    simulator.step()
    simulator.restore(state)
    return simulator
