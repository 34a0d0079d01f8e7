"""A text index whose last writer was killed between writing its files and naming them in the head."""

import shutil
from pathlib import Path

from citewise.adapters.local_index.texts import LocalTextIndex
from citewise.model.filters import Where
from citewise.ports.indexes import IndexBatch
from tests.builders import SCOPE, a_point, an_id


def test_deletions_that_no_commit_names_do_not_stop_the_next_writer(tmp_path: Path) -> None:
    index = LocalTextIndex(tmp_path / "index")
    index.write(SCOPE, 1, IndexBatch(puts=[a_point(n, words="tide") for n in range(3)], drops=(), position=3))
    index.activate(SCOPE, 1)
    removal = IndexBatch(puts=(), drops=[an_id(1)], position=4)
    shutil.copytree(tmp_path / "index", tmp_path / "killed")
    LocalTextIndex(tmp_path / "killed").write(SCOPE, 1, removal)
    left = [file for file in (tmp_path / "killed").rglob("*.del")]
    assert left
    for file in left:  # all that the killed writer had done
        shutil.copy(file, tmp_path / "index" / file.relative_to(tmp_path / "killed"))
    index.write(SCOPE, 1, removal)
    hits = index.search(["tide"], field="words", where=Where(SCOPE, None), limit=9)
    assert {hit.id for hit in hits} == {an_id(0), an_id(2)}
