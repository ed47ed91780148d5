// Package extended stands in for step-runner's client.
package extended

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"gitlab.com/gitlab-org/step-runner/pkg/api/client"
)

var errAbsent = errors.New("step-runner is not part of this build")

// Dialer connects to step-runner.
type Dialer interface {
	Dial() (*grpc.ClientConn, error)
}

// FollowOutput receives a job's log.
type FollowOutput struct{ Logs io.Writer }

// Client refuses every call.
type Client struct{}

// New fails: there is no step-runner.
func New(Dialer) (*Client, error) { return nil, errAbsent }

// CloseConn does nothing.
func (*Client) CloseConn() error { return nil }

// Cancel fails: there is no step-runner.
func (*Client) Cancel(context.Context, string) error { return errAbsent }

// RunAndFollow fails: there is no step-runner.
func (*Client) RunAndFollow(context.Context, *client.RunRequest, *FollowOutput) (client.Status, error) {
	return client.Status{}, errAbsent
}
