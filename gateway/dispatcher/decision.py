"""One send and what came back, turned into what is written. Decides; never writes."""

from gateway.core.retry import History, decide
from gateway.core.verdict import Verdict, judge
from gateway.dispatcher.compose import Prepared, answer_owed, reply_of
from gateway.dispatcher.lead import Lead
from gateway.model.clock import Now
from gateway.model.delivery import Claim, Head, Settled, Settlement
from gateway.model.policy import DeliveryPolicy
from gateway.model.upstream import Outcome


def settlement_of(verdict: Verdict, row: Claim | Head, *, policy: DeliveryPolicy, now: Now, roll: float) -> Settlement:
    """Decide by the policy frozen on the row, and by the channel's outcome policy as it is now."""
    return decide(
        verdict,
        retry=row.policy or policy.retry,
        outcome=policy.outcome,
        history=History(
            attempts=row.attempts,
            link_losses=row.link_losses,
            first_sent=row.first_sent,
            first_sent_wall=row.first_sent_wall,
        ),
        now=now,
        roll=roll,
    )


def settled(
    lead: Lead,
    row: Claim | Head,
    prepared: Prepared,
    outcome: Outcome,
    settlement: Settlement,
    now: Now,
) -> Settled:
    """Put the decision together with its evidence and the answer owed to the sender."""
    return Settled(
        row=row.row,
        generation=row.generation,
        send=row.send if isinstance(row, Claim) else row.sends,
        settlement=settlement,
        reply=reply_of(outcome),
        answer=answer_owed(prepared, outcome, settlement, new_id=lead.new_id, now=now),
    )


def verdict_of(prepared: Prepared, outcome: Outcome, policy: DeliveryPolicy) -> Verdict:
    """Judge an outcome by the channel's reading of its server."""
    return judge(outcome, control_id=prepared.control_id, policy=policy.verdict)
