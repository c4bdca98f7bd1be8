package background

import (
	"context"
	"os"

	"github.com/toolhost/toolhost/host/tool"
)

func supervised(*os.Root) bool { return false }

func unsupported() *tool.Error {
	return tool.Errorf(tool.Unsupported, "background tasks do not work on Windows").
		Suggest("Run the command in the foreground.")
}

// Main has nothing to do: there are no supervisors.
func Main() {}

// Start fails as unsupported.
func (s *Store) Start(context.Context, Spec) (*Task, error) { return nil, unsupported() }

// Kill gives a task that has ended, as all have here.
func (s *Store) Kill(_ context.Context, id string) (t *Task, already bool, err error) {
	t, err = s.Get(id)
	return t, true, err
}

// EndSession has nothing to end.
func (s *Store) EndSession(context.Context, string) (int, error) { return 0, nil }

// Owner is a session that ends.
type Owner struct{}

// Own has nothing to do: there are no tasks.
func (s *Store) Own(string) (*Owner, error) { return &Owner{}, nil }

// End has nothing to do.
func (o *Owner) End(context.Context) (int, error) { return 0, nil }
