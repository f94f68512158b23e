package translated

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Mock is an answer that the gateway gives by itself: SAM's Cors makes such an answer to OPTIONS.
type Mock struct {
	Status int
	Header http.Header
	Body   string
}

// mockOf reads a mock integration that has one answer, of constants.
func mockOf(integration map[string]any) (*Mock, error) {
	responses, _ := integration["responses"].(map[string]any)
	response, ok := responses["default"].(map[string]any)
	if !ok || len(responses) != 1 {
		return nil, fmt.Errorf("a mock with the answers %v: the local stack knows one, default", responses)
	}
	status, err := strconv.Atoi(scalar(response["statusCode"]))
	if err != nil {
		return nil, fmt.Errorf("a mock's status: %w", err)
	}
	m := &Mock{Status: status, Header: http.Header{}, Body: texts(response["responseTemplates"])["application/json"]}
	for parameter, value := range texts(response["responseParameters"]) {
		name, isHeader := strings.CutPrefix(parameter, "method.response.header.")
		if !isHeader || len(value) < 2 || value[0] != '\'' || value[len(value)-1] != '\'' {
			return nil, fmt.Errorf("a mock's %s: %s is not supported by the local stack", parameter, value)
		}
		m.Header.Set(name, value[1:len(value)-1])
	}
	if strings.Contains(m.Body, "$") || strings.Contains(m.Body, "#") {
		return nil, fmt.Errorf("a mock's template %q is not supported by the local stack", m.Body)
	}
	return m, nil
}
