// Package markdown converts web pages to readable Markdown.
package markdown

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"github.com/toolhost/toolhost/host/tool"
)

// FromHTML converts a UTF-8 HTML document to CommonMark with tables. Headings, lists, links, emphasis, code and
// quotations stay; images, video, audio, scripts, styles, frames and form controls are left out. The error is
// unsupported for a document that is nested too deeply.
func FromHTML(ctx context.Context, document string) (string, error) {
	root, err := html.Parse(strings.NewReader(document))
	if err != nil {
		return "", tool.Errorf(tool.Unsupported, "the HTML cannot be parsed: %w", err).
			Suggest("The document is not a usual web page. Read it as it is.")
	}
	newCleaner().clean(root, 0)
	if err := ctx.Err(); err != nil {
		return "", stopped(err)
	}
	text, err := newConverter().ConvertNode(root, converter.WithContext(ctx))
	if err != nil {
		return "", tool.Errorf(tool.Internal, "the HTML cannot be converted: %w", err).
			Suggest("Read the document as it is.")
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return "", nil
	}
	return string(text) + "\n", nil
}

func stopped(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return tool.Errorf(tool.Timeout, "the conversion took too long: %w", err).Suggest("Convert a smaller document.")
	}
	return tool.Errorf(tool.Cancelled, "the conversion was cancelled: %w",
		err).Suggest("Call again if it is still wanted.")
}

func newConverter() *converter.Converter {
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(
			table.WithHeaderPromotion(true),
			table.WithSkipEmptyRows(true),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
		),
	))
	conv.Register.UnEscaper(isOpener, converter.PriorityEarly)
	return conv
}

// isOpener makes every bracket and backtick of the text escaped. The library would search the closing one
// first, through the rest of the line each time, which takes minutes if there are many.
func isOpener(chars []byte, index int) int {
	if chars[index] == '[' || chars[index] == '`' {
		return 1
	}
	return -1
}
