"""Popular: passages that others read, for when a question cannot be looked up."""

from typing import Protocol

from citewise.model.passage import Passage
from citewise.model.where import Where


class Popular(Protocol):
    """Knows which passages are often found, and shows them to whoever may read them.

    Promises: most popular first, none twice, never more than `limit`; read from the catalog at the time of the call, so
    that nothing comes back which is gone, in another scope, or not for this reader by now, whatever was popular with
    others; nor anything that the conditions of `where` might not admit. Nothing known gives (). A catalog that cannot
    be read leaves nothing that may be shown: (), or Unavailable.
    """

    def passages(self, where: Where, limit: int) -> tuple[Passage, ...]: ...
