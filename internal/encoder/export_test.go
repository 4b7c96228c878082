package encoder

import "time"

// What tests look at.
var (
	Exp        = exp
	ErrDamaged = errDamaged
)

const ModelSHA256 = modelSHA256

// ModelFile is the file in the program.
func ModelFile() string { return modelFile }

// Load makes an Encoder of a model file.
func Load(file string) (*Encoder, error) { return load(file) }

// Tokens is what the model sees of a text.
func (e *Encoder) Tokens(text string) []int32 { return e.model.vocabulary.tokens(text) }

// Longest is the most tokens of a text.
func (e *Encoder) Longest() int { return e.model.Tokens }

// Words is the number of different tokens.
func (e *Encoder) Words() int { return e.model.Words }

// NewGELU returns the function between the two matrices of a layer.
func NewGELU() func(float32) float32 { return newBell().gelu }

// SetPatience sets how long a Query may take.
func (e *Encoder) SetPatience(d time.Duration) { e.patience = d }
