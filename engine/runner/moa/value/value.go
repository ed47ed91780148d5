// Package value names the types of GitLab's expression language that GitLab Runner's job inputs mention.
//
// The module gitlab.com/gitlab-org/moa is not served by the Go module proxy. Nothing of it takes part in reading a
// config.toml; these packages let GitLab Runner's own code compile.
package value

import "errors"

// Kind is a value's type.
type Kind int

// The kinds of values.
const (
	NullKind Kind = iota
	BoolKind
	NumberKind
	StringKind
	ArrayKind
	ObjectKind
)

var (
	// ErrAttributeNotFound reports an absent attribute.
	ErrAttributeNotFound = errors.New("attribute not found")
	// ErrInvalidKey reports a key of the wrong kind.
	ErrInvalidKey = errors.New("invalid key")
)

// Value is null or a string here.
type Value struct {
	kind Kind
	text string
}

// Mapper is an object's attributes.
type Mapper interface {
	Attr(name string) (Value, error)
}

// Null returns the null value.
func Null() Value { return Value{} }

// String returns a string value.
func String(text string) Value { return Value{StringKind, text} }

// Object returns an object value.
func Object(Mapper) Value { return Value{kind: ObjectKind} }

// Kind returns the value's type.
func (v Value) Kind() Kind { return v.kind }

func (v Value) String() string { return v.text }

// WithMarks returns the value unmarked.
func (v Value) WithMarks(uint16) Value { return v }

// HasMarks is always false.
func (v Value) HasMarks(uint16) bool { return false }
