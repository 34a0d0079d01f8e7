"""Search as different people, with filters, and see how each hit came to its place."""

from importlib.resources import files
from tempfile import TemporaryDirectory

from citewise import Library, Principal

handbook = files("citewise") / "data" / "handbook"

with TemporaryDirectory() as home, Library(home) as library:
    library.ingest(str(handbook / "operations"), str(handbook / "runbooks"))

    found = library.as_owner().search("water level is flat", filters={"tags": ["tide", "weather"]}, top_k=3)
    for place, finding in enumerate(found.findings, start=1):
        passage, candidate = finding.passage, finding.candidate
        scores = "  ".join(f"{stage} {score:.2f}" for stage, score in candidate.scores.items())
        print(f"[{place}] {passage.document}:{passage.location.first}  {candidate.score:.2f}  ({scores})")
    print(f"{found.total_candidates} candidates, {len(found.dropped)} dropped, {found.timings_ms['total']:.0f} ms\n")

    # The contact sheet's frontmatter says `access: {groups: [harbor-ops]}`; inside every ranking, nobody else finds it.
    for who in (Principal("ann", frozenset({"harbor-ops"})), Principal("bob")):
        seen = {one.passage.document for one in library.as_principal(who).search("incident lead phone").findings}
        print(who.user, "sees the contact sheet:", any("incident-contacts" in document for document in seen))
