"""Examples below the help of every command; each block works when it is pasted into a new folder."""

from __future__ import annotations

EXAMPLES = {
    None: """examples:
  goldless demo                                   the main job on real votes, nothing to download
  goldless simulate -o votes.csv                  a file of votes to try the rest with
  goldless inspect votes.csv --truth truth        who echoes whom, how good is each, what to do
  goldless combine votes.csv --truth truth -o labels.csv
  goldless select votes.csv --truth truth -k 5
  goldless report votes.csv --truth truth -o report.html
""",
    "inspect": """examples:
  goldless simulate -o votes.csv
  goldless inspect votes.csv --truth truth
  goldless inspect votes.csv --json
  goldless simulate --classes 3 -o three.csv
  goldless inspect three.csv --class-balance a=0.3,b=0.3,c=0.4
  cat votes.csv | goldless inspect -
""",
    "combine": """examples:
  goldless simulate -o votes.csv
  goldless combine votes.csv -o labels.csv
  goldless combine votes.csv | head -n 3
  goldless combine votes.csv --explain -o why.csv
  goldless combine votes.csv --engine stream -o labels.parquet
""",
    "select": """examples:
  goldless simulate -o votes.csv
  goldless select votes.csv -k 5
  goldless select votes.csv -k 3 --include "voter 7" --exclude "voter 8,voter 9"
  goldless simulate --items 2000 --groups 1,1,1 -o three.csv
  printf 'voter 1,5\\nvoter 2,1\\nvoter 3,2\\n' > costs.csv
  goldless select three.csv --costs costs.csv --budget 3
""",
    "ask": """examples:
  goldless simulate -o votes.csv
  goldless ask votes.csv -n 5 -o ask.csv
""",
    "audit": """examples:
  goldless simulate --items 500 -o votes.csv
  goldless audit votes.csv --ignore truth -n 30 -o to_label.csv
  goldless audit votes.csv --ignore truth -n 100 --seed 1 --json | head -n 9
""",
    "report": """examples:
  goldless simulate -o votes.csv
  goldless report votes.csv --truth truth -o report.html
  goldless report votes.csv -o report.html --force
""",
    "simulate": """examples:
  goldless simulate -o votes.csv
  goldless simulate --items 1000 --groups 4,3,1,1,1,1 --seed 7 -o small.csv
  goldless simulate --items 1000 --classes 3 -o three.csv
  goldless simulate --missing-rate 0.5 --long | head -n 3
""",
    "demo": """examples:
  goldless demo
  goldless demo -o demo.html --force
""",
    "formats": """examples:
  goldless formats
  goldless formats --json
""",
    "completion": """examples:
  eval "$(goldless completion bash)"
""",
}
