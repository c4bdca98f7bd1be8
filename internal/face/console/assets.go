package console

import (
	"embed"
	"net/http"
)

// built is the page that the bundler builds from page/, by `go generate`.
//
//go:generate go run -C bundle .
//go:embed built
var built embed.FS

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
