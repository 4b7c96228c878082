package main

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// outcomes prints the outcome of each item of a write, with verb for an applied item. It returns an error if an item
// was rejected.
func (a *app) outcomes(r *pb.WriteResult, verb, duplicate string) error {
	rejected := false
	for _, o := range r.GetOutcomes() {
		rejected = rejected || o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED
	}
	if !a.out.json {
		for _, o := range r.GetOutcomes() {
			a.out.printf("%s\n", a.outcome(r, o, verb, duplicate))
			a.takenOut(o)
		}
		if len(r.GetOutcomes()) == 0 {
			a.out.printf("%s%s.\n", verb, operation(r))
		}
	}
	if rejected {
		return failed(exitError)
	}
	return nil
}

// outcome is the line for one outcome.
func (a *app) outcome(r *pb.WriteResult, o *pb.Outcome, verb, duplicate string) string {
	id := ""
	if o.GetId() != "" {
		id = " " + o.GetId()
	}
	switch o.GetStatus() {
	case pb.OutcomeStatus_OUTCOME_STATUS_REJECTED:
		return a.out.colour(red, "Rejected"+id+": "+reasonWords(o.GetReason())) + "."
	case pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE:
		return duplicate + id + "."
	}
	text := verb + id + operation(r)
	// What was taken out is on the next line.
	if o.GetReason() != "" && (o.GetReason() != "REDACTED" || len(o.GetRedactions()) == 0) {
		text += "; " + reasonWords(o.GetReason())
	}
	return text + "."
}

// takenOut says what was taken out of an item, and how to insist. A private passage is what the user marked.
func (a *app) takenOut(o *pb.Outcome) {
	if line := redactions(o.GetRedactions()); line != "" {
		a.out.printf("%s\n", a.out.colour(amber, line))
	}
}

// redactions is the line about what was taken out of an item, "" for nothing.
func redactions(list []*pb.Redaction) string {
	said := redactionsOf(list)
	isSecret := func(r memory.Redaction) bool { return r.Kind != redact.Private && r.Kind != redact.RecallBlock }
	switch {
	case len(list) == 0:
		return ""
	case slices.ContainsFunc(said, isSecret):
		return "Taken out: " + memory.Redactions(said) +
			". Repeat it with --keep to store what only looks like a secret."
	}
	return "Taken out: " + memory.Redactions(said) + "."
}

// redactionsOf converts what was taken out of an item.
func redactionsOf(list []*pb.Redaction) []memory.Redaction {
	out := make([]memory.Redaction, len(list))
	for i, r := range list {
		out[i] = memory.Redaction{Field: r.GetField(), Kind: r.GetKind(), From: int(r.GetStart()), To: int(r.GetEnd())}
	}
	return out
}

// operation is " (operation N)", or empty if a write changed nothing.
func operation(r *pb.WriteResult) string {
	switch {
	case r.GetOperationId() == "":
		return ""
	case r.GetReplayed():
		return " (earlier, operation " + r.GetOperationId() + ")"
	}
	return " (operation " + r.GetOperationId() + ")"
}

// reasonWords is the text for the reason code of an outcome.
func reasonWords(reason string) string {
	switch reason {
	case "REDACTED":
		return "a secret was redacted"
	case "NOT_FOUND":
		return "no such memory in this space"
	case "ID_EXISTS":
		return "another memory has this id"
	case "FORGOTTEN":
		return "the value was forgotten on purpose"
	case "NEW":
		return "new"
	case "EXACT_DUPLICATE":
		return "another memory has the same text"
	case "CHANGED_VALUE":
		return "the value changed"
	case "CONTRADICTED":
		return "contradicts the existing memory"
	case "REFINED":
		return "adds detail to the existing memory"
	case "SECRET":
		return "the text was only a secret"
	case "PURGED":
		return "the earlier state was purged"
	case "REVIEW_BOTH_CHANGED":
		return "two machines changed it; this is the other text"
	case "REVIEW_CHANGED_RETIRED":
		return "another machine retired it"
	case "REVIEW_LOST_NUMBER":
		return "would lose a number; pending in memsidecar review"
	case "REVIEW_LOST_NAME":
		return "would lose a name; pending in memsidecar review"
	case "REVIEW_LOST_NEGATION":
		return "would lose a negation; pending in memsidecar review"
	case "REVIEW_LOST_TEXT":
		return "would lose a clause or most of the text; pending in memsidecar review"
	case "REVIEW_USERS_OWN":
		return "would retire a memory that you saved; pending in memsidecar review"
	case "NEAR_IDENTICAL_REPLACED":
		return "replaced a nearly identical text"
	case "NEAR_IDENTICAL_MERGED":
		return "merged with a nearly identical text"
	case "NEAR_IDENTICAL_KEPT_BOTH":
		return "kept beside a nearly identical text about something else"
	case "SUMMARY_IS_YOURS":
		return "the summary was not generated; use --replace to overwrite it"
	case "CHANGED_SINCE", "STALE":
		return "changed by a later operation"
	}
	return strings.ToLower(strings.ReplaceAll(reason, "_", " "))
}

// written prints the response to a write.
func (a *app) written(m proto.Message, r *pb.WriteResult, verb, duplicate string) error {
	if err := a.out.result(m, func() {}); err != nil {
		return err
	}
	return a.outcomes(r, verb, duplicate)
}

// reasonText is the text for a reason, which is a code or already a text.
func reasonText(reason string) string {
	if reason == strings.ToUpper(reason) && !strings.Contains(reason, " ") {
		return reasonWords(reason)
	}
	return reason
}
