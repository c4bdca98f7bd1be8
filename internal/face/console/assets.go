package console

import (
	"embed"
	"net/http"
)

// built is the page as the bundler makes it of page/. `go generate` makes it again.
//
//go:generate go run -C bundle .
//go:embed built
var built embed.FS

// page serves a file of the page.
func (s *Server) page(name, media string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		data, err := built.ReadFile("built/" + name)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", media)
		_, err = w.Write(data)
		return err
	}
}
