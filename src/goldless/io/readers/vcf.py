"""Variant calls: several callers' VCF files joined, or one file that says which callers found each variant.

A variant is its contig, position, reference and alternative allele, after records of several alleles are split and
bases that both alleles share are trimmed. Absent is not "no": a caller that never calls a type of variant, or a
contig on which it would have called some, says nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from goldless.errors import Note, VotesError
from goldless.io.readers.base import CERTAIN, File, Read, ReaderOptions, Roles, damaged, empty_file

SITE = "site"
TRUTH = "in the truth"
_TRUTH_WORDS = re.compile(r"truth|gold|giab|highconf|benchmark", re.IGNORECASE)
_KINDS = re.compile(  # ends of names that say which variants a file holds, not who called them
    r"[._-](s?snvs?|s?snps?|s?indels?|svs?|variants?|somatic|germline|filtered|pass(ed)?|calls?|vcf|hc|raw|norm|sorted)$",
    re.IGNORECASE,
)
_DECISION = re.compile(r"Calling decision of the \d+ algorithms?: *([^\"]+)")
_SITES_LINE = re.compile(rb"^[^\t\n#]+\t\d+\t[^\t\n]+\t[^\t\n]+\t[01]+\r?$", re.MULTILINE)
_BY_CHANCE = 1e-6  # a contig without calls has none by chance only so rarely: then the caller did not look there

Site = tuple[str, int, str, str]


@dataclass
class Calls:
    """What one file says of variants.

    Attributes
    ----------
    callers : tuple of str
    votes : dict
        For each variant a vote of each caller: 1 called, 0 not, None nothing said.
    contigs : dict
        Contigs in order.
    rejected : int
        Records that the caller's own filter rejects.
    """

    callers: tuple[str, ...]
    votes: dict[Site, list[int | None]] = field(default_factory=dict)
    contigs: dict[str, None] = field(default_factory=dict)
    rejected: int = 0


class VcfReader:
    """VCF in all its forms."""

    name, title, together = (
        "vcf",
        "VCF: several callers' files, CALLERS, SUPP_VEC, SomaticSeq, set=, merged samples",
        True,
    )

    def sniff(self, file: File) -> float | None:
        """Return that it begins like VCF or BCF."""
        return CERTAIN if file.head.startswith((b"##fileformat=VCF", b"BCF\x02")) else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read one file that names callers, or join several of one caller each."""
        truth_files, others = _split_off_truth(files, options)
        heads = [_Vcf.of(file) for file in others]
        joint = [vcf for vcf in heads if vcf.form is not None]
        single = [vcf for vcf in heads if vcf.form is None]
        notes: list[Note] = []
        if len(single) > 1:
            if joint:
                notes.append(Note(f"Left out, for they hold the calls of several callers already: {_names(joint)}"))
            calls = [vcf.single(caller, options.every_call) for vcf, caller in _callers(single)]
            how = f"{len({c for part in calls for c in part.callers})} callers' VCF files, joined on {_KEY}"
        elif joint:
            if single:
                notes.append(Note(f"Left out, for it holds the calls of one caller: {_names(single)}"))
            if len({vcf.how.partition(" in ")[0] for vcf in joint}) > 1:
                raise VotesError(
                    "several", f"{_names(joint)} name callers in different ways", "name-file", {"file": files[0].name}
                )
            calls = [vcf.joint(options.every_call) for vcf in joint]
            how = joint[0].how
        else:
            name = files[0].name
            raise VotesError("one-voter", f"{name} holds the calls of one caller", "more-callers", {"file": name})
        rejected = sum(part.rejected for part in calls)
        if rejected:
            notes.append(
                Note(f"{rejected:,} records that a caller's own filter rejects were read as not called", "every-call")
            )
        joined = _join(calls)
        notes += _mark_silence(joined)
        truth = None
        if truth_files and options.truth is not None:
            truth = {site for file in truth_files for site in _Vcf.of(file).single("truth", True).votes}
        elif truth_files:
            names = ", ".join(Path(file.name).name for file in truth_files)
            notes.append(Note(f"{names} was left out, for it looks like the truth", "use-truth-file"))
        if len(single) > 1:
            notes.append(Note("Variants were not left-aligned, which needs the reference (bcftools norm -f)"))
        name = files[0].name if len(files) == 1 else str(Path(files[0].name).parent)
        read = _read(joined, how, name, tuple(notes), truth)
        return replace(read, at_least=1) if len(single) > 1 else read  # one call lists a variant in a joined table


class SitesReader:
    """``sites.txt`` of ``bcftools isec``: which files hold each variant."""

    name, title, together = "isec", "bcftools isec sites.txt", False

    def sniff(self, file: File) -> float | None:
        """Return that its first line is a variant and a row of zeros and ones."""
        return CERTAIN if _SITES_LINE.match(file.head[:4096]) else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read the file; the names of the callers stand in README.txt beside it."""
        (file,) = files
        votes: dict[Site, list[int | None]] = {}
        contigs: dict[str, None] = {}
        width = None
        for number, line in enumerate(file.read().decode("utf-8", "replace").splitlines(), 1):
            if not line.strip():
                continue
            fields = line.split("\t")
            width = len(fields[4]) if width is None and len(fields) == 5 else width
            if len(fields) != 5 or len(fields[4]) != width or set(fields[4]) - {"0", "1"}:
                raise VotesError(
                    "ragged",
                    f"{file.name}: line {number} is not a variant and {width} zeros and ones",
                    where={"file": file.name, "line": number},
                )
            contig, position, reference, alternatives, bits = fields
            contigs[contig] = None
            for alternative in alternatives.split(","):
                votes[trimmed(contig, int(position), reference, alternative)] = [int(bit) for bit in bits]
        names, at_least = _readme(file, width or 0)
        joined = Calls(tuple(names), votes, contigs)
        notes = _mark_silence(joined)
        read = _read(joined, "bcftools isec sites", file.name, tuple(notes), None)
        return read if at_least is None else replace(read, at_least=at_least)


def _readme(file: File, width: int) -> tuple[list[str], int | None]:
    """Return the names of the callers and how many a variant needs, as the README of isec says."""
    readme = file.path.parent / "README.txt" if file.path is not None else None
    text = readme.read_text(encoding="utf-8", errors="replace") if readme is not None and readme.is_file() else ""
    names = [Path(name).name for name in re.findall(r"for stripped\s+(\S+)", text)]
    names = [re.sub(r"\.(vcf|bcf)(\.gz)?$", "", name) for name in names]
    needed = re.search(r"-n\s*([+=-]?)(\d+)", text)
    if len(names) != width or len(set(names)) != width:
        names = [f"file {number + 1}" for number in range(width)]
    return names, int(needed[2]) if needed and needed[1] in ("+", "=", "") else None


# -- one file -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Vcf:
    """A VCF file and what its header says.

    Attributes
    ----------
    file : File
    form : str or None
        How it names callers: ``SUPP_VEC``, ``CALLERS``, ``set``, ``samples`` or the tag of a vector; None if it is of
        one caller.
    callers : tuple of str
        Their names, as far as the header has them.
    samples : tuple of str
    how : str
    """

    file: File
    form: str | None
    callers: tuple[str, ...]
    samples: tuple[str, ...]
    how: str

    @classmethod
    def of(cls, file: File) -> _Vcf:
        """Read the header."""
        samples: tuple[str, ...] = ()
        tags: dict[str, str] = {}
        for line in _lines(file):
            if not line.startswith("##"):
                samples = tuple(line.split("\t")[9:]) if line.startswith("#CHROM") else ()
                break
            if line.startswith("##INFO=<ID="):
                tags[line[11:].partition(",")[0]] = line
        for tag, line in tags.items():
            if found := _DECISION.search(line):
                names = tuple(name.strip() for name in found[1].strip(" .").split(","))
                return cls(file, tag, names, samples, f"VCF of SomaticSeq, callers in {tag}")
        if "SUPP_VEC" in tags:
            return cls(file, "SUPP_VEC", samples, samples, "VCF of merged callers, which SUPP_VEC names")
        if "CALLERS" in tags:
            return cls(file, "CALLERS", (), samples, "VCF with the list of CALLERS")
        if "set" in tags:
            return cls(file, "set", (), samples, "VCF of CombineVariants, callers in set=")
        if len(samples) > 2:
            return cls(file, "samples", samples, samples, "VCF with one sample a caller, as bcftools merge writes it")
        return cls(file, None, (), samples, "VCF")

    def single(self, caller: str, every_call: bool) -> Calls:
        """Return the calls of one caller; a record that its filter rejects is no call unless that is asked for."""
        calls = Calls((caller,))
        for fields in _records(self.file):
            passed = every_call or fields[6] in ("PASS", ".")
            calls.rejected += not passed
            for site, called in _alleles(fields):
                calls.contigs[site[0]] = None
                if passed and called:
                    calls.votes[site] = [1]
                else:
                    calls.votes.setdefault(site, [0])
        return calls

    def joint(self, every_call: bool) -> Calls:
        """Return the calls of all callers that a file names."""
        rows: list[tuple[Site, Any]] = []
        calls, seen = Calls(self.callers), dict[str, None]()
        for fields in _records(self.file):
            said = self._said(fields, seen, every_call)
            for number, (site, _) in enumerate(_alleles(fields)):
                calls.contigs[site[0]] = None
                rows.append((site, said[number] if self.form == "samples" else said))
        if self.form in ("CALLERS", "set"):
            calls.callers = tuple(seen)
            for site, found in rows:
                calls.votes[site] = [int(name in found) for name in seen]
            return calls
        width = max((len(said) for _, said in rows), default=0)
        if len(calls.callers) != width:
            calls.callers = tuple(f"caller {number + 1}" for number in range(width))
        for site, said in rows:
            if len(said) != width:
                raise VotesError(
                    "ragged", f"{self.file.name}: {self.form} has {len(said)} entries at {item_name(site)}"
                )
            calls.votes[site] = said
        return calls

    def _said(self, fields: list[str], seen: dict[str, None], every_call: bool) -> Any:
        """Return what a record says: votes of the callers in order, or the names of those that found it."""
        if self.form == "samples":
            return _by_sample(fields)
        info = _info(fields[7])
        if self.form == "SUPP_VEC":
            return [int(bit) for bit in info.get("SUPP_VEC", "") if bit in "01"]
        if self.form == "CALLERS":
            found = [name for name in re.split(r"[,|]", info.get("CALLERS", "")) if name not in ("", ".")]
        elif self.form == "set":
            found = _callers_of_set(info.get("set", ""), seen, every_call)
        else:
            return [
                None if bit in (".", "") else int(bit not in ("0", "0.0"))
                for bit in info.get(str(self.form), "").split(",")
            ]
        seen.update(dict.fromkeys(found))
        return set(found)


def _callers_of_set(said: str, seen: dict[str, None], every_call: bool) -> list[str]:
    """Return who found a variant by ``set=a-b``; ``Intersection`` is all that are named elsewhere."""
    if said == "Intersection":
        return list(seen)
    if said == "FilteredInAll":
        return list(seen) if every_call else []
    names = said.split("-")
    for name in names:
        seen[name.removeprefix("filterIn")] = None
    return [name.removeprefix("filterIn") for name in names if every_call or not name.startswith("filterIn")]


def _lines(file: File) -> Iterator[str]:
    if file.head.startswith(b"BCF\x02"):
        yield from _lines_of_bcf(file)
        return
    with file.open() as stream:
        for line in stream:
            yield line.decode("utf-8", "replace").rstrip("\r\n")


def _lines_of_bcf(file: File) -> Iterator[str]:
    try:
        import pysam
    except ImportError:
        raise VotesError(
            *("library", f"{file.name} is BCF, which needs pysam", "install", {"file": file.name}),
            library="'goldless[vcf]'",
        ) from None
    with pysam.VariantFile(file.name) as variants:
        yield from str(variants.header).splitlines()
        yield from (str(record).rstrip("\n") for record in variants)


def _records(file: File) -> Iterator[list[str]]:
    """Yield the fields of the records of a file."""
    for number, line in enumerate(_lines(file), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) < 8 or not fields[1].isdigit():
            raise damaged(file.name, "VCF", f"line {number} is not a record")
        yield fields


def _info(text: str) -> dict[str, str]:
    return {key: value for key, _, value in (part.partition("=") for part in text.split(";"))}


def alleles(fields: list[str]) -> list[Site]:
    """Return the variants of a record, one for each alternative allele."""
    return [site for site, _ in _alleles(fields)]


def _alleles(fields: list[str]) -> list[tuple[Site, bool]]:
    """Return the variants of a record, and whether any sample has the allele; without genotypes all are called."""
    contig, position, _, reference, alternatives = fields[:5]
    if alternatives in (".", "<*>", "<NON_REF>"):
        return []
    genotypes: set[str] = set()
    if len(fields) > 9 and fields[8].partition(":")[0] == "GT":
        for sample in fields[9:]:
            genotypes.update(re.split(r"[/|]", sample.partition(":")[0]))
        genotypes.discard(".")
    found = []
    for number, alternative in enumerate(alternatives.split(","), 1):
        if alternative not in ("*", "<*>", "<NON_REF>"):
            site = trimmed(contig, int(position), reference, alternative)
            found.append((site, not genotypes or str(number) in genotypes))
    return found


def _by_sample(fields: list[str]) -> list[list[int]]:
    """Return for each alternative allele whether each sample has it."""
    genotypes = [set(re.split(r"[/|]", sample.partition(":")[0])) for sample in fields[9:]]
    numbers = [n for n, a in enumerate(fields[4].split(","), 1) if a not in ("*", "<*>", "<NON_REF>", ".")]
    return [[int(str(number) in found) for found in genotypes] for number in numbers]


def trimmed(contig: str, position: int, reference: str, alternative: str) -> Site:
    """Return a variant without the bases that both alleles share, at the end first, then at the start.

    >>> trimmed("1", 100, "CTT", "CT")
    ('1', 100, 'CT', 'C')
    """
    if alternative.startswith("<") or "[" in alternative or "]" in alternative:
        return contig, position, reference.upper(), alternative
    reference, alternative = reference.upper(), alternative.upper()
    while len(reference) > 1 and len(alternative) > 1 and reference[-1] == alternative[-1]:
        reference, alternative = reference[:-1], alternative[:-1]
    start = 0
    while len(reference) > start + 1 and len(alternative) > start + 1 and reference[start] == alternative[start]:
        start += 1
    return contig, position + start, reference[start:], alternative[start:]


def item_name(site: Site) -> str:
    """Return how a variant is called."""
    return ":".join(map(str, site))


# -- several files ------------------------------------------------------------------------------------------

_KEY = "CHROM, POS, REF and ALT"


def _split_off_truth(files: Sequence[File], options: ReaderOptions) -> tuple[list[File], list[File]]:
    """Return the files that hold the truth, by the user's word or by their names, and the others."""
    asked = options.truth
    if asked is not None:
        named = [file for file in files if asked in (file.name, Path(file.name).name, file.stem)]
        if named:
            return named, [file for file in files if file not in named]
    found = [file for file in files if len(files) > 1 and _TRUTH_WORDS.search(Path(file.name).name)]
    if asked is not None and not found:
        raise VotesError(
            "unknown-column", f"no file {asked!r} is among the {len(files)} files", where={"column": asked}
        )
    return found, [file for file in files if file not in found]


def _callers(vcfs: Sequence[_Vcf]) -> list[tuple[_Vcf, str]]:
    """Return each file with the name of its caller: that of the file, without what says which variants it holds."""
    stems = [Path(vcf.file.name).name for vcf in vcfs]
    names = [re.sub(r"\.(vcf|bcf)(\.b?gz)?$", "", stem) for stem in stems]
    if len(set(names)) == 1:  # one folder a caller
        names = [Path(vcf.file.name).parent.name for vcf in vcfs]
    short = []
    for name in names:
        while (cut := _KINDS.sub("", name)) != name and cut:
            name = cut
        short.append(name)
    return list(zip(vcfs, short if len(set(short)) > 1 else names, strict=True))


def _join(parts: Sequence[Calls]) -> Calls:
    """Return the calls of all callers; one that has no record of a variant does not call it."""
    callers = tuple(dict.fromkeys(caller for part in parts for caller in part.callers))
    place = {caller: number for number, caller in enumerate(callers)}
    joined = Calls(callers, contigs={contig: None for part in parts for contig in part.contigs})
    covers = len({part.callers for part in parts}) > 1 and any(len(part.callers) > 1 for part in parts)
    for part in parts:
        places = [place[caller] for caller in part.callers]
        for site, said in part.votes.items():
            row = joined.votes.setdefault(site, [None if covers else 0] * len(callers))
            for number, vote in zip(places, said, strict=True):
                row[number] = vote if row[number] in (0, None) else row[number]
    order = {contig: number for number, contig in enumerate(joined.contigs)}
    joined.votes = {
        site: row
        for site, row in sorted(joined.votes.items(), key=lambda pair: (order[pair[0][0]], *pair[0][1:]))
        if any(row)
    }
    return joined


def variant_type(site: Site) -> str:
    """Return SNV (of one base or several), indel, or the type of a structural variant."""
    _, _, reference, alternative = site
    if alternative.startswith("<"):
        return alternative.strip("<>").partition(":")[0]
    if "[" in alternative or "]" in alternative:
        return "BND"
    if len(reference) == len(alternative):
        return "SNV"
    return "indel"


def _mark_silence(calls: Calls) -> list[Note]:
    """Take what callers do not say for missing where they never call a type or do not look at a contig; say so."""
    sites = list(calls.votes)
    if not sites:
        return []
    votes = np.array([[-1 if vote is None else vote for vote in row] for row in calls.votes.values()], dtype=np.int8)
    notes = []
    for what, of_site in (("type", [variant_type(s) for s in sites]), ("contig", [s[0] for s in sites])):
        quiet: dict[str, list[str]] = {}
        values = np.array(of_site)
        for value in dict.fromkeys(of_site):
            here = values == value
            for number, caller in enumerate(calls.callers):
                if (votes[here, number] == 1).any() or not (votes[here, number] == 0).any():
                    continue
                if what == "type" or _would_have_called(votes[:, number], here):
                    votes[here, number] = -1
                    quiet.setdefault(caller, []).append(value)
        if quiet:
            said = "; ".join(f"{caller}: {', '.join(found[:4])}" for caller, found in list(quiet.items())[:8])
            notes.append(Note(f"Missing, not 'no', where a caller never calls a {what} ({said})"))
    for site, row in zip(sites, votes.tolist(), strict=True):
        calls.votes[site] = [None if vote < 0 else vote for vote in row]
    return notes


def _would_have_called(votes: NDArray[np.int8], here: NDArray[np.bool_]) -> bool:
    """Whether no call on a contig, at the rate of the others, would be a rare chance."""
    elsewhere = votes[~here]
    rate = (elsewhere == 1).sum() / max((elsewhere >= 0).sum(), 1)
    return (1 - rate) ** here.sum() < _BY_CHANCE


def _read(calls: Calls, how: str, name: str, notes: tuple[Note, ...], truth: set[Site] | None) -> Read:
    if not calls.votes:
        raise empty_file(name, f"was read as {how} and holds no calls")
    columns = {SITE: pa.array([item_name(site) for site in calls.votes])}
    for caller, votes in zip(calls.callers, zip(*calls.votes.values(), strict=True), strict=True):
        columns[caller] = pa.array(votes, pa.int8())
    roles = Roles(SITE, voters=calls.callers)
    if truth is not None:
        columns[TRUTH] = pa.array([int(site in truth) for site in calls.votes], pa.int8())
        roles = Roles(SITE, voters=calls.callers, truth=TRUTH)
    counts = [sum(1 for vote in row if vote) for row in calls.votes.values()]
    at_least = max(min(counts), 1)
    return Read(pa.table(columns), how, roles, notes, positive=1, classes=(0, 1), at_least=at_least)


def _names(vcfs: Sequence[_Vcf]) -> str:
    return ", ".join(Path(vcf.file.name).name for vcf in vcfs[:6])
