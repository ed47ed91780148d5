// Package ast names the syntax tree of GitLab's expression language.
package ast

// Visitor walks a tree.
type Visitor interface {
	Enter(expr Expr) (Visitor, error)
	Exit(expr Expr) (Expr, error)
}

// Expr is a node.
type Expr interface {
	Walk(visitor Visitor) (Expr, error)
}

// Template is a text with expressions in it.
type Template struct{}

// Walk returns the node itself.
func (t *Template) Walk(Visitor) (Expr, error) { return t, nil }
