"""Variant calls: several callers' VCF files joined, or one file that says which callers found each variant.

A variant is its contig, position, reference and alternative allele, after records of several alleles are split and
bases that both alleles share are trimmed. Absent is not "no": a caller that never calls a type of variant, or a
contig on which it would have called some, says nothing there. A record that the filter of its caller rejects is no
vote either: the caller saw the variant, and did not trust it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from goldless.errors import Note, VotesError
from goldless.io.readers.base import (
    CERTAIN,
    POSSIBLE,
    File,
    Read,
    ReaderOptions,
    Roles,
    damaged,
    empty_file,
    lacking,
    written_name,
)

SITE = "site"
TRUTH = "in the truth"
_TRUTH_WORDS = re.compile(r"truth|gold|giab|highconf|benchmark", re.IGNORECASE)
_KINDS = re.compile(  # ends of names that say which variants a file holds, not who called them
    r"[._-](s?snvs?|s?snps?|s?indels?|svs?|variants?|somatic|germline|filtered|pass(ed)?|calls?|vcf|hc|raw|norm|sorted)$",
    re.IGNORECASE,
)
_DECISION = re.compile(r"Calling decision of the \d+ algorithms?: *([^\"]+)")
_POSITION = re.compile(r"[0-9]{1,18}")
_SITES_LINE = re.compile(rb"^[^\t\n#]+\t\d+\t[^\t\n]+\t[^\t\n]+\t[01]+\r?$", re.MULTILINE)
_STARTS = (b"##fileformat=VCF", b"#CHROM\tPOS\t", b"BCF\x02")
_TUMOUR_AND_NORMAL = 2  # samples that one caller's file may hold
_BY_CHANCE = 1e-6  # a contig without calls has none by chance only so rarely: then the caller did not look there

Site = tuple[str, int, str, str]

# what a caller says of a variant; of two records the greater holds
_NOTHING, _ABSENT, _FILTERED, _CALLED = range(4)
_VOTE = {_NOTHING: None, _ABSENT: 0, _FILTERED: None, _CALLED: 1}


@dataclass
class Calls:
    """What one file says of variants."""

    callers: tuple[str, ...]
    said: dict[Site, list[int]] = field(default_factory=dict)  # for each variant what each caller says of it
    contigs: dict[str, None] = field(default_factory=dict)  # contigs in order


class VcfReader:
    """VCF in all its forms."""

    name, title, together = (
        "vcf",
        "VCF: several callers' files, CALLERS, SUPP_VEC, SomaticSeq, set=, merged samples",
        True,
    )

    def sniff(self, file: File) -> float | None:
        """Return that it begins like VCF or BCF."""
        return CERTAIN if file.head.startswith(_STARTS) else None

    def open(self, files: Sequence[File], options: ReaderOptions, samples: bool = False) -> Read:
        """Read one file that names callers, or join several of one caller each; or take samples for callers."""
        truth_files, others = _split_off_truth(files, options)
        heads = [_Vcf.of(file, samples) for file in others]
        joint = [vcf for vcf in heads if vcf.form is not None]
        single = [vcf for vcf in heads if vcf.form is None]
        notes: list[Note] = []
        if len(single) > 1:
            if joint:
                notes.append(Note(f"Left out, for they hold the calls of several callers already: {_names(joint)}"))
            callers = _callers(single)
            if len(set(callers)) == 1:
                raise _one_caller(files, f"{_names(single)} hold the calls of one caller, {callers[0]!r}")
            calls = [vcf.single(caller, options.every_call) for vcf, caller in zip(single, callers, strict=True)]
            how = f"{len(set(callers))} callers' VCF files, joined on {_KEY}"
        elif joint:
            if single:
                notes.append(Note(f"Left out, for it holds the calls of one caller: {_names(single)}"))
            if len({vcf.how.partition(" in ")[0] for vcf in joint}) > 1:
                raise VotesError(
                    "several",
                    f"{_names(joint)} name callers in different ways",
                    "name-file",
                    {"file": files[0].name},
                    first=joint[0].file.name,
                )
            calls = [vcf.joint(options.every_call) for vcf in joint]
            how = joint[0].how
        elif single and len(single[0].samples) > _TUMOUR_AND_NORMAL:
            found = f"{files[0].name} holds {len(single[0].samples)} samples and does not say who called them"
            raise VotesError("several", found, "samples-are-callers", {"file": files[0].name})
        else:
            raise _one_caller(files, f"{files[0].name} holds the calls of one caller")
        true_calls = [_Vcf.of(file).single("truth", True) for file in truth_files if options.truth is not None]
        notes += _spell_contigs_alike([*calls, *true_calls])
        joined = _join(calls)
        notes += [*_filtered_notes(joined), *_mark_silence(joined)]
        truth = {site for found in true_calls for site in found.said} if true_calls else None
        if truth is None and truth_files:
            names = ", ".join(Path(file.name).name for file in truth_files)
            notes.append(Note(f"{names} was left out, for it looks like the truth", "use-truth-file"))
        if len(single) > 1:
            notes.append(Note("Variants were not left-aligned, which needs the reference (bcftools norm -f)"))
            if any(variant_type(site) not in ("SNV", "indel") for site in joined.said):
                notes.append(
                    Note("Structural variants were joined by exact position; SURVIVOR merges those close by")
                )
        name = files[0].name if len(files) == 1 else str(Path(files[0].name).parent)
        # in a joined table one call lists a variant
        return _read(joined, how, name, notes, truth, at_least=1 if len(single) > 1 else None)


class MergedReader(VcfReader):
    """VCF with one sample for each caller, where the file does not say that it is so."""

    name, title, together = "vcf_samples", "VCF whose samples are callers of one sample (bcftools merge)", True

    def sniff(self, file: File) -> float | None:
        """Return that it may be, if nobody knows better."""
        return POSSIBLE / 10 if super().sniff(file) else None

    def open(self, files: Sequence[File], options: ReaderOptions, samples: bool = True) -> Read:
        """Read files whose samples are callers."""
        return super().open(files, options, samples)


def _one_caller(files: Sequence[File], found: str) -> VotesError:
    if not any(1 for file in files for _ in _records(file)):  # which also refuses what is no record
        return empty_file(files[0].name, "holds no calls")
    return VotesError("one-voter", found, "more-callers", {"file": files[0].name})


class SitesReader:
    """``sites.txt`` of ``bcftools isec``: which files hold each variant."""

    name, title, together = "isec", "bcftools isec sites.txt", False

    def sniff(self, file: File) -> float | None:
        """Return that its first line is a variant and a row of zeros and ones."""
        return CERTAIN if _SITES_LINE.match(file.head[:4096]) else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read the file; the names of the callers stand in README.txt beside it."""
        (file,) = files
        calls = Calls(())
        width = None
        for number, line in enumerate(file.read().decode("utf-8", "replace").splitlines(), 1):
            if not line.strip():
                continue
            fields = line.split("\t")
            width = len(fields[4]) if width is None and len(fields) == 5 else width
            sound = len(fields) == 5 and len(fields[4]) == width and _POSITION.fullmatch(fields[1])
            if not sound or set(fields[4]) - {"0", "1"}:
                raise VotesError(
                    "ragged",
                    f"{file.name}: line {number} is not a variant and {width} zeros and ones",
                    where={"file": file.name, "line": number},
                )
            contig, position, reference, alternatives, bits = fields
            calls.contigs[contig] = None
            for alternative in alternatives.split(","):
                calls.said[trimmed(contig, int(position), reference, alternative)] = [_bit(bit) for bit in bits]
        calls.callers, at_least = _readme(file, width or 0)
        notes = _mark_silence(calls)
        return _read(calls, "bcftools isec sites", file.name, notes, at_least=at_least)


def _bit(text: str) -> int:
    """Return what a digit of a vector says."""
    return _NOTHING if text in (".", "") else _ABSENT if text in ("0", "0.0") else _CALLED


def _readme(file: File, width: int) -> tuple[tuple[str, ...], int | None]:
    """Return the names of the callers and how many a variant needs, as the README of isec says."""
    readme = file.path.parent / "README.txt" if file.path is not None else None
    text = readme.read_text(encoding="utf-8", errors="replace") if readme is not None and readme.is_file() else ""
    names = [Path(name).name for name in re.findall(r"for stripped\s+(\S+)", text)]
    names = [re.sub(r"\.(vcf|bcf)(\.gz)?$", "", name) for name in names]
    needed = re.search(r"(?:-n|--nfiles)[\s=]*?([+=~-]?)(\d+)", text)
    if needed and needed[1] != "+":  # a plain number means just so many
        raise VotesError(
            "truncated",
            f"{file.name} lists only what bcftools isec {needed[0]} chose, so who calls what cannot be learnt",
            "isec-all",
            {"file": file.name},
        )
    if len(names) != width or len(set(names)) != width:
        names = [f"file {number + 1}" for number in range(width)]
    return tuple(names), int(needed[2]) if needed else None


# -- one file -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Vcf:
    """A VCF file and what its header says."""

    file: File
    # how it names callers: `SUPP_VEC`, `CALLERS`, `set`, `samples` or the tag of a vector; None if it is of one
    # caller
    form: str | None
    callers: tuple[str, ...]  # their names, as far as the header has them
    samples: tuple[str, ...]
    how: str

    @classmethod
    def of(cls, file: File, merged: bool = False) -> _Vcf:
        """Read the header; ``merged`` says that samples are callers, if the header does not."""
        samples: tuple[str, ...] = ()
        tags: dict[str, str] = {}
        for line in lines_of(file):
            if line.startswith("#CHROM"):
                samples = tuple(line.split("\t")[9:])
                continue
            if not line.startswith("##"):  # the first record, which may use what the header does not declare
                tags |= dict.fromkeys(set(_info("".join(line.split("\t")[7:8]))) - set(tags), "")
                break
            merged |= line.startswith("##bcftools_merge")
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
        if merged and len(samples) > 1:
            return cls(file, "samples", samples, samples, "VCF with one sample a caller, as bcftools merge writes it")
        return cls(file, None, (), samples, "VCF")

    def single(self, caller: str, every_call: bool) -> Calls:
        """Return the calls of one caller; a record that its filter rejects is one only if that is asked for."""
        calls = Calls((caller,))
        for fields in _records(self.file):
            passed = every_call or fields[6] in ("PASS", ".", "")
            for site, called in _alleles(fields):
                calls.contigs[site[0]] = None
                said = (_CALLED if passed else _FILTERED) if called else _ABSENT
                calls.said[site] = [max(said, *calls.said.get(site, (_NOTHING,)))]
        return calls

    def joint(self, every_call: bool) -> Calls:
        """Return the calls of all callers that a file names."""
        calls = Calls(self.callers)
        rows: list[tuple[Site, Any]] = []
        for fields in _records(self.file):
            said = self._said(fields)
            for number, (site, _) in enumerate(_alleles(fields)):
                calls.contigs[site[0]] = None
                rows.append((site, said[number] if self.form == "samples" else said))
        if self.form in ("CALLERS", "set"):
            calls.callers = tuple(dict.fromkeys(name for _, said in rows for name in said if name not in _ALL_OF_SET))
            rows = [(site, [_of_caller(name, said, every_call) for name in calls.callers]) for site, said in rows]
        width = max((len(said) for _, said in rows), default=0)
        if len(calls.callers) != width:
            calls.callers = tuple(f"caller {number + 1}" for number in range(width))
        for site, said in rows:
            if len(said) != width:
                raise VotesError(
                    "ragged", f"{self.file.name}: {self.form} has {len(said)} entries at {item_name(site)}"
                )
            calls.said[site] = said
        return calls

    def _said(self, fields: list[str]) -> Any:
        """Return what a record says: that of each caller in order, or the names of those that found it."""
        if self.form == "samples":
            return _by_sample(fields)
        info = _info(fields[7])
        if self.form == "SUPP_VEC":
            return [_bit(bit) for bit in info.get("SUPP_VEC", "") if bit in "01"]
        if self.form == "CALLERS":
            names = re.split(r"[,|]", info.get("CALLERS", ""))
            return {name: _CALLED for name in names if name not in ("", ".")}
        if self.form == "set":
            return _callers_of_set(info.get("set", ""))
        return [_bit(bit) for bit in info.get(str(self.form), "").split(",")]


_ALL_OF_SET = {"Intersection": _CALLED, "FilteredInAll": _FILTERED}


def _callers_of_set(text: str) -> dict[str, int]:
    """Return who found a variant, by ``set=a-filterInb``; or one word for all callers."""
    if text in _ALL_OF_SET:
        return {text: _ALL_OF_SET[text]}
    found = (name for name in text.split("-") if name)
    return {name.removeprefix("filterIn"): _FILTERED if name.startswith("filterIn") else _CALLED for name in found}


def _of_caller(name: str, found: dict[str, int], every_call: bool) -> int:
    """Return what a caller says of a variant that these found."""
    said = next((found[word] for word in (name, *_ALL_OF_SET) if word in found), _ABSENT)
    return _CALLED if said == _FILTERED and every_call else said


def lines_of(file: File) -> Iterator[str]:
    """Yield the lines of a VCF file, or of the BCF file that stands for it."""
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
        raise lacking(file.name, "BCF", "pysam", "'goldless[vcf]'") from None
    with pysam.VariantFile(file.name) as variants:
        yield from str(variants.header).splitlines()
        yield from (str(record).rstrip("\n") for record in variants)


def _records(file: File) -> Iterator[list[str]]:
    """Yield the fields of the records of a file."""
    for number, line in enumerate(lines_of(file), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) < 8 or not _POSITION.fullmatch(fields[1]):
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
    return [[_CALLED if str(number) in found else _ABSENT for found in genotypes] for number in numbers]


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


def _callers(vcfs: Sequence[_Vcf]) -> list[str]:
    """Return the caller of each file: its name, without what says which sample or which variants it holds."""
    names = [re.sub(r"\.(vcf|bcf)(\.b?gz)?$", "", written_name(Path(vcf.file.name))) for vcf in vcfs]
    if len(set(names)) == 1:  # one folder a caller
        names = [written_name(Path(vcf.file.name).parent) for vcf in vcfs]
    for number, name in enumerate(names):
        while (cut := _KINDS.sub("", name)) != name and cut:
            name = cut
        names[number] = name
    parts = [re.split(r"([._-])", name) for name in names]
    shared = 0  # the name of the sample, before that of the caller
    if len(set(names)) > 1:
        while len({tuple(part[: shared + 2]) for part in parts}) == 1 and min(map(len, parts)) > shared + 2:
            shared += 2
    return ["".join(part[shared:]) for part in parts]


def _spell_contigs_alike(parts: Sequence[Calls]) -> list[Note]:
    """Give contigs one name where some files say ``1`` and others ``chr1``: that of the first file; and say so."""
    first: dict[str, str] = {}
    spelt: dict[str, str] = {}
    for contig in dict.fromkeys(contig for part in parts for contig in part.contigs):
        plain = contig.casefold().removeprefix("chr")
        spelt[contig] = first.setdefault("mt" if plain == "m" else plain, contig)
    other = [contig for contig, one in spelt.items() if contig != one]
    if not other:
        return []
    for part in parts:
        part.said = {(spelt[site[0]], *site[1:]): found for site, found in part.said.items()}
        part.contigs = {spelt[contig]: None for contig in part.contigs}
    return [
        Note(f"{other[0]!r} and {spelt[other[0]]!r} were read as one contig" + (", and so on" * (len(other) > 1)))
    ]


def _join(parts: Sequence[Calls]) -> Calls:
    """Return the calls of all callers; one that has no record of a variant does not call it."""
    callers = tuple(dict.fromkeys(caller for part in parts for caller in part.callers))
    place = {caller: number for number, caller in enumerate(callers)}
    joined = Calls(callers, contigs={contig: None for part in parts for contig in part.contigs})
    covers = len({part.callers for part in parts}) > 1 and any(len(part.callers) > 1 for part in parts)
    for part in parts:
        places = [place[caller] for caller in part.callers]
        for site, found in part.said.items():
            row = joined.said.setdefault(site, [_NOTHING if covers else _ABSENT] * len(callers))
            for number, said in zip(places, found, strict=True):
                row[number] = max(row[number], said)
    order = {contig: number for number, contig in enumerate(joined.contigs)}
    joined.said = {
        site: row
        for site, row in sorted(joined.said.items(), key=lambda pair: (order[pair[0][0]], *pair[0][1:]))
        if max(row, default=_NOTHING) >= _FILTERED
    }
    return joined


def _filtered_notes(calls: Calls) -> list[Note]:
    """Say how many records callers filtered, and of how many variants that is all there is."""
    filtered = sum(row.count(_FILTERED) for row in calls.said.values())
    if not filtered:
        return []
    alone = sum(max(row) == _FILTERED for row in calls.said.values())
    found = f"{filtered:,} calls that a caller's own filter rejects were read as no vote, neither yes nor no"
    if alone:
        were = "variant that has no other call is" if alone == 1 else "variants that have no other call are"
        found += f"; {alone:,} {were} labelled but did not enter the fit"
    return [Note(found, "every-call")]


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
    sites = list(calls.said)
    if not sites:
        return []
    votes = np.array(list(calls.said.values()), dtype=np.int8)
    notes = []
    for what, of_site in (("type", [variant_type(s) for s in sites]), ("contig", [s[0] for s in sites])):
        quiet: dict[str, list[str]] = {}
        values = np.array(of_site)
        for value in dict.fromkeys(of_site):
            here = values == value
            for number, caller in enumerate(calls.callers):
                if votes[here, number].max() != _ABSENT:  # it looks there, or says nothing already
                    continue
                if what == "type" or _would_have_called(votes[:, number], here):
                    votes[here, number] = _NOTHING
                    quiet.setdefault(caller, []).append(value)
        if quiet:
            said = "; ".join(f"{caller}: {', '.join(found[:4])}" for caller, found in list(quiet.items())[:8])
            notes.append(Note(f"Missing, not 'no', where a caller never calls a {what} ({said})"))
    calls.said.update(zip(sites, votes.tolist(), strict=True))
    return notes


def _would_have_called(votes: NDArray[np.int8], here: NDArray[np.bool_]) -> bool:
    """Whether no call on a contig, at the rate of the others, would be a rare chance."""
    elsewhere = votes[~here]
    rate = (elsewhere == _CALLED).sum() / max((elsewhere >= _ABSENT).sum(), 1)
    return (1 - rate) ** here.sum() < _BY_CHANCE


def _read(
    calls: Calls,
    how: str,
    name: str,
    notes: Sequence[Note],
    truth: set[Site] | None = None,
    at_least: int | None = None,
) -> Read:
    counts = [row.count(_CALLED) for row in calls.said.values()]
    if not any(counts):
        raise empty_file(name, f"was read as {how} and holds no calls")
    columns = {SITE: pa.array([item_name(site) for site in calls.said])}
    for caller, said in zip(calls.callers, zip(*calls.said.values(), strict=True), strict=True):
        columns[caller] = pa.array([_VOTE[one] for one in said], pa.int8())
    roles = Roles(SITE, voters=calls.callers)
    if truth is not None:
        columns[TRUTH] = pa.array([int(site in truth) for site in calls.said], pa.int8())
        roles = Roles(SITE, voters=calls.callers, truth=TRUTH)
    if at_least is None and (at_least := max(min(filter(None, counts)), 1)) > 1:
        few = f"Every variant has {at_least} callers or more, so those with fewer are taken to be left out"
        notes = [*notes, Note(few, "at-least")]
    return Read(pa.table(columns), how, roles, tuple(notes), positive=1, classes=(0, 1), at_least=at_least)


def _names(vcfs: Sequence[_Vcf]) -> str:
    return ", ".join(Path(vcf.file.name).name for vcf in vcfs[:6])
