package main

import (
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// outcomes prints what became of each item of a write, with verb for those that were applied. The error is set when
// an item was rejected.
func (a *app) outcomes(r *pb.WriteResult, verb, duplicate string) error {
	rejected := false
	for _, o := range r.GetOutcomes() {
		rejected = rejected || o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED
	}
	if !a.out.json {
		for _, o := range r.GetOutcomes() {
			a.out.printf("%s\n", a.outcome(r, o, verb, duplicate))
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

func (a *app) outcome(r *pb.WriteResult, o *pb.Outcome, verb, duplicate string) string {
	id := ""
	if o.GetId() != "" {
		id = " " + o.GetId()
	}
	switch o.GetStatus() {
	case pb.OutcomeStatus_OUTCOME_STATUS_REJECTED:
		return a.out.colour(red, "Refused"+id+": "+reasonWords(o.GetReason())) + "."
	case pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE:
		return duplicate + id + "."
	}
	text := verb + id + operation(r)
	if o.GetReason() != "" {
		text += "; " + reasonWords(o.GetReason())
	}
	return text + "."
}

// operation names the operation that a write was, if it changed something.
func operation(r *pb.WriteResult) string {
	switch {
	case r.GetOperation() == 0:
		return ""
	case r.GetReplayed():
		return " by operation " + itoa(r.GetOperation()) + ", earlier"
	}
	return " (operation " + itoa(r.GetOperation()) + ")"
}

// reasonWords says a reason of an outcome in words.
func reasonWords(reason string) string {
	switch reason {
	case "REDACTED":
		return "a secret was taken out of the text"
	case "NOT_FOUND":
		return "there is no such memory in this space"
	case "ID_EXISTS":
		return "the id belongs to another memory"
	case "EQUAL_EXISTS":
		return "an equal memory is active"
	case "FORGOTTEN":
		return "it was forgotten on purpose"
	case "NEW":
		return "it is new"
	case "EXACT_DUPLICATE":
		return "it is known already"
	case "CHANGED_VALUE":
		return "the value has changed"
	case "CONTRADICTED":
		return "it contradicts what was known"
	case "REFINED":
		return "it says more than what was known"
	case "SECRET":
		return "it held nothing but a secret"
	case "PURGED":
		return "what was there before is erased for good"
	case "REVIEW_LOST_NUMBER":
		return "it would lose a number; it waits in memsidecar review"
	case "REVIEW_LOST_NAME":
		return "it would lose a name; it waits in memsidecar review"
	case "REVIEW_LOST_NEGATION":
		return "it would lose a negation; it waits in memsidecar review"
	case "REVIEW_LOST_TEXT":
		return "it would lose most of the text; it waits in memsidecar review"
	case "REVIEW_USERS_OWN":
		return "it would retire what you saved; it waits in memsidecar review"
	case "NEAR_IDENTICAL_REPLACED":
		return "it takes the place of a text that was nearly the same"
	case "NEAR_IDENTICAL_MERGED":
		return "it was put together with a text that is nearly the same"
	case "NEAR_IDENTICAL_KEPT_BOTH":
		return "a text that is nearly the same is about something else"
	case "EQUALS_ANOTHER":
		return "another memory says just that"
	case "SUMMARY_IS_YOURS":
		return "somebody else wrote that summary; --replace replaces it"
	case "CHANGED_SINCE", "STALE":
		return "it was changed since"
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

// reasonText is a reason in words, whether it is a code or words already.
func reasonText(reason string) string {
	if reason == strings.ToUpper(reason) && !strings.Contains(reason, " ") {
		return reasonWords(reason)
	}
	return reason
}
