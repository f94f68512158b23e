package gateway

import (
	"fmt"
	"strings"

	"latchkey/infra/template/translated"
)

// route is a compiled translated.Route.
type route struct {
	translated.Route
	segments []string
}

// match is the route of a request, with its path parameters. Like API Gateway, it decodes neither the parameters nor the path.
type match struct {
	route      route
	parameters map[string]string
}

const methodAny = "ANY"

func compile(all []translated.Route) ([]route, error) {
	out := make([]route, 0, len(all))
	for _, r := range all {
		if !strings.HasPrefix(r.Path, "/") {
			return nil, fmt.Errorf("path %q does not begin with a slash", r.Path)
		}
		out = append(out, route{r, strings.Split(r.Path, "/")[1:]})
	}
	return out, nil
}

// find returns the most specific matching route. It compares scores as texts, and the last in order wins. A score has a digit for
// each segment (2: literal, 1: parameter, 0: greedy parameter), and a last digit for the method (1: a method, 0: ANY). find ignores
// a slash at the end of the path.
func find(routes []route, method, escapedPath string) (match, bool) {
	segments := strings.Split(strings.TrimSuffix(strings.TrimPrefix(escapedPath, "/"), "/"), "/")
	var best match
	bestScore, found := "", false
	for _, r := range routes {
		if r.Method != method && r.Method != methodAny {
			continue
		}
		parameters, score, ok := r.match(segments)
		if !ok {
			continue
		}
		if r.Method == methodAny {
			score += "0"
		} else {
			score += "1"
		}
		if !found || score > bestScore {
			best, bestScore, found = match{r, parameters}, score, true
		}
	}
	return best, found
}

// match returns the path parameters and the score of the route for the segments of a path.
func (r route) match(segments []string) (parameters map[string]string, score string, ok bool) {
	parameters = map[string]string{}
	for i, pattern := range r.segments {
		name, isParameter := strings.CutPrefix(pattern, "{")
		name = strings.TrimSuffix(name, "}")
		isGreedy := isParameter && strings.HasSuffix(name, "+")
		switch {
		case i >= len(segments):
			return nil, "", false
		case isGreedy:
			rest := strings.Join(segments[i:], "/")
			if rest == "" {
				return nil, "", false
			}
			parameters[strings.TrimSuffix(name, "+")] = rest
			return parameters, score + "0", true
		case isParameter:
			if segments[i] == "" {
				return nil, "", false
			}
			parameters[name] = segments[i]
			score += "1"
		case segments[i] != pattern:
			return nil, "", false
		default:
			score += "2"
		}
	}
	return parameters, score, len(segments) == len(r.segments)
}
