package main

import (
	"math"
	"testing"
)

// TestCalibration checks the figures on hits whose reliability is known.
func TestCalibration(t *testing.T) {
	// hitsOf makes 100 hits of one probability, so many of them relevant.
	hitsOf := func(probability float64, relevant int) (out []judged) {
		for i := range 100 {
			out = append(out, judged{probability: probability, relevant: i < relevant})
		}
		return out
	}
	perfect := append(hitsOf(0.25, 25), hitsOf(0.75, 75)...)
	tooSure := append(hitsOf(0.25, 15), hitsOf(0.85, 75)...)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	near("error of reliable hits", calibrationError(perfect), 0)
	near("error of hits that are a tenth too sure", calibrationError(tooSure), 0.1)
	near("error of both", calibrationError(perfect, tooSure), 0.05)
	bias, slope := correction(perfect)
	near("bias of reliable hits", bias, 0)
	near("slope of reliable hits", slope, 1)
	// Two probabilities are two equations: bias + slope · logit(said) = logit(found).
	logit := func(p float64) float64 { return math.Log(p / (1 - p)) }
	bias, slope = correction(tooSure)
	near("corrected .25", bias+slope*logit(0.25), logit(0.15))
	near("corrected .85", bias+slope*logit(0.85), logit(0.75))
	if bias, slope = correction(nil); bias != 0 || slope != 1 {
		t.Errorf("without hits: %v, %v", bias, slope)
	}
}
