# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Who is on the graph, from liveliness tokens: endpoints come with theirs and go with it."""

from collections import Counter
from typing import Any

from mb_contact.ros.embedded.zenoh.keys import PUBLISHER, SPACE, Endpoint, endpoint


class Graph:
    """The endpoints of a domain, ours too.

    Parameters
    ----------
    session : zenoh.Session
    domain : int
    """

    def __init__(self, session: Any, domain: int) -> None:
        import zenoh

        self._gone = zenoh.SampleKind.DELETE
        self.endpoints: dict[str, Endpoint] = {}  #: by token
        self._matches: Counter = Counter()
        self.ever: dict[str, set[str]] = {}  #: types of the topics that were ever heard of
        handler = zenoh.handlers.Callback(self._on_token, indirect=False)
        self._subscriber = session.liveliness().declare_subscriber(f"{SPACE}/{domain}/**", handler, history=True)

    def _on_token(self, sample):
        token = str(sample.key_expr)
        if sample.kind == self._gone:
            left = self.endpoints.pop(token, None)
            if left is not None:
                self._matches[left.match] -= 1
            return
        found = None if token in self.endpoints else endpoint(token)
        if found is not None:
            self.endpoints[token] = found
            self._matches[found.match] += 1
            if found.kind == PUBLISHER:
                self.ever.setdefault(found.name, set()).add(found.type)

    def count(self, kind: str, name: str, type_name: str, type_hash: str) -> int:
        """How many endpoints of a kind one end meets."""
        return self._matches[kind, name, type_name, type_hash]

    def of(self, kind: str, name: str) -> list[Endpoint]:
        """The endpoints of a kind at a name, of whatever type."""
        return [found for found in list(self.endpoints.values()) if found.kind == kind and found.name == name]
