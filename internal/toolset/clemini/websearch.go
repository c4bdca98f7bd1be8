package clemini

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
)

const (
	defaultSearchURL = "https://html.duckduckgo.com/html/"
	// browser is a User-Agent that the search page accepts.
	browser = "Mozilla/5.0 (compatible; toolhost)"
)

type searchInput struct {
	Query   string   `json:"query"`
	Allowed []string `json:"allowed_domains"`
	Blocked []string `json:"blocked_domains"`
}

type searchHit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

type searchResult struct {
	Results []searchHit `json:"results"`
	Query   string      `json:"query"`
}

func runSearch(ctx context.Context, deps Deps, call *tool.Call, in searchInput) (*outcome, error) {
	target, err := url.Parse(deps.SearchURL)
	if err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "the search URL %s is wrong: %w", deps.SearchURL, err).
			Suggest("The user can fix it in the web block of agent.hcl.")
	}
	values := target.Query()
	values.Set("q", in.Query)
	target.RawQuery = values.Encode()
	page, err := deps.Web.Fetch(ctx, netguard.Request{
		URL: target.String(), Header: http.Header{"User-Agent": {browser}, "Accept": {"text/html"},
			"Accept-Language": {"en"}},
	})
	if err != nil {
		return nil, webError("Search failed", err)
	}
	if page.StatusCode != http.StatusOK {
		return nil, tool.Errorf(tool.Unavailable, "Search failed: the search engine answered with status %d",
			page.StatusCode).
			Suggest("It refuses searches that come too fast: wait a while, or fetch a page that is known with web_fetch.").
			With("status_code", page.StatusCode)
	}
	hits, err := parseHits(page.Text(), page.URL)
	if err != nil {
		return nil, err
	}
	return &outcome{data: searchResult{in.filter(hits), in.Query}}, nil
}

func parseHits(document, base string) ([]searchHit, error) {
	root, err := html.Parse(strings.NewReader(document))
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "Search failed: the page of results cannot be read: %w", err).
			Suggest("Try again later.")
	}
	from, _ := url.Parse(base)
	hits := []searchHit{}
	challenge := false
	for node := range root.Descendants() {
		challenge = challenge || node.Type == html.ElementNode && hasClass(node, "anomaly-modal__title")
		if node.DataAtom != atom.Div || !hasClass(node, "result") || hasClass(node, "result--ad") ||
			hasClass(node, "result--no-result") {
			continue
		}
		if hit, ok := parseHit(node, from); ok {
			hits = append(hits, hit)
		}
	}
	if len(hits) == 0 && challenge {
		return nil,
			tool.Errorf(tool.Unavailable, "Search failed: the search engine wants to know whether a person asks").
				Suggest("Wait a while, or fetch a page that is known with web_fetch.")
	}
	return hits, nil
}

func parseHit(result *html.Node, base *url.URL) (hit searchHit, ok bool) {
	for node := range result.Descendants() {
		switch {
		case node.DataAtom == atom.A && hasClass(node, "result__a") && hit.URL == "":
			hit.Title, hit.URL = textOf(node), decodeLink(attribute(node, "href"), base)
		case node.Type == html.ElementNode && hasClass(node, "result__snippet") && hit.Snippet == "":
			hit.Snippet = textOf(node)
		}
	}
	return hit, hit.URL != "" && hit.Title != ""
}

// redirectParameter holds the target of the search engine's redirect links.
const redirectParameter = "uddg"

// decodeLink returns the target of a link, "" outside of the web.
func decodeLink(href string, base *url.URL) string {
	link, err := url.Parse(strings.TrimSpace(href))
	if err != nil || href == "" {
		return ""
	}
	if base != nil {
		link = base.ResolveReference(link)
	}
	if target := link.Query().Get(redirectParameter); target != "" {
		if link, err = url.Parse(target); err != nil {
			return ""
		}
	}
	if link.Scheme != "http" && link.Scheme != "https" || link.Host == "" {
		return ""
	}
	return link.String()
}

// filter keeps the results that the domains allow, each page once.
func (in searchInput) filter(hits []searchHit) []searchHit {
	kept, seen := []searchHit{}, map[string]bool{}
	for _, hit := range hits {
		link, err := url.Parse(hit.URL)
		if err != nil || seen[hit.URL] {
			continue
		}
		host := strings.ToLower(strings.TrimSuffix(link.Hostname(), "."))
		if len(in.Allowed) > 0 && !inDomains(host, in.Allowed) || inDomains(host, in.Blocked) {
			continue
		}
		seen[hit.URL] = true
		kept = append(kept, hit)
	}
	return kept
}

// inDomains reports whether a host is one of domains or inDomains one.
func inDomains(host string, domains []string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool {
		domain = strings.ToLower(strings.TrimSpace(domain))
		if _, rest, ok := strings.Cut(domain, "://"); ok {
			domain = rest
		}
		domain, _, _ = strings.Cut(domain, "/")
		domain = strings.Trim(strings.TrimPrefix(domain, "*."), ".")
		return domain != "" && (host == domain || strings.HasSuffix(host, "."+domain))
	})
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasClass(node *html.Node, class string) bool {
	return slices.Contains(strings.Fields(attribute(node, "class")), class)
}

func textOf(node *html.Node) string {
	var b strings.Builder
	for n := range node.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func webError(what string, err error) error {
	e := tool.AsError(err)
	if e.Code == tool.Cancelled {
		return e
	}
	reason, ok := e.Details["reason"].(string)
	if !ok {
		reason = e.Message
	}
	own := tool.Errorf(e.Code, "%s: %s", what, reason).Suggest("%s", e.Suggestion)
	own.Details = e.Details
	return own
}
