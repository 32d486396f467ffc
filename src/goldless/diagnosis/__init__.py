"""What can be trusted without labels: tests, intervals, effective votes, stability of groups, and a verdict."""

from goldless.diagnosis.audit import AuditOutcome, AuditPlan, audit
from goldless.diagnosis.compare import Comparison, compare
from goldless.diagnosis.diagnose import diagnose
from goldless.diagnosis.result import Diagnosis

__all__ = ["AuditOutcome", "AuditPlan", "Comparison", "Diagnosis", "audit", "compare", "diagnose"]
