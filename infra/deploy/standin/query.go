package standin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// fault is an error answer of AWS.
type fault struct{ code, message string }

func (f *fault) Error() string { return f.code + ": " + f.message }

func invalid(format string, a ...any) error {
	return &fault{"ValidationError", fmt.Sprintf(format, a...)}
}

// serveQuery answers a call of the query protocol: the request is a form, the answer is XML.
func (s *Standin) serveQuery(w http.ResponseWriter, r *http.Request, service string) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	action := r.Form.Get("Action")
	result, err := s.act(service, action, r.Form)
	w.Header().Set("Content-Type", "text/xml")
	if f, ok := err.(*fault); ok { //nolint:errorlint // actions wrap nothing
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<ErrorResponse>%s<RequestId>r</RequestId></ErrorResponse>", element("Error", fields{{"Type", "Sender"}, {"Code", f.code}, {"Message", f.message}}))
		return
	}
	fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>", action, result)
}

func (s *Standin) act(service, action string, in url.Values) (string, error) {
	if refused := s.noted(service + ":" + action); refused != "" && in.Get("StackName") != bucketStack {
		return "", &fault{"AccessDenied", refused}
	}
	do, ok := s.actions()[action]
	if !ok {
		return "", &fault{"InvalidAction", "the stand-in has no " + action}
	}
	return do(in)
}

func (s *Standin) actions() map[string]func(url.Values) (string, error) {
	return map[string]func(url.Values) (string, error){
		"GetCallerIdentity":      s.getCallerIdentity,
		"DescribeStacks":         s.onStack(s.describeStack),
		"DescribeStackEvents":    s.onStack(s.describeEvents),
		"DescribeStackResources": s.onStack(s.describeResources),
		"GetTemplate":            s.onStack(s.getTemplate),
		"GetTemplateSummary":     s.onStack(s.getTemplateSummary),
		"DeleteStack":            s.onStack(s.deleteStack),
		"CreateChangeSet":        s.createChangeSet,
		"DescribeChangeSet":      s.onStack(s.describeChangeSet),
		"ExecuteChangeSet":       s.onStack(s.executeChangeSet),
		"ListChangeSets":         s.onStack(s.listChangeSets),
		"DeleteChangeSet":        s.onStack(s.deleteChangeSet),
		"ListEntitiesForPolicy":  s.listEntitiesForPolicy,
	}
}

func (s *Standin) getCallerIdentity(url.Values) (string, error) {
	return xml(fields{{"Arn", "arn:aws:iam::" + Account + ":user/ada"}, {"UserId", "AIDA"}, {"Account", Account}}), nil
}

func (s *Standin) listEntitiesForPolicy(url.Values) (string, error) {
	var roles []fields
	for _, name := range s.faults.PolicyRoles {
		roles = append(roles, fields{{"RoleName", name}, {"RoleId", "AROA"}})
	}
	return xml(fields{{"PolicyRoles", roles}, {"IsTruncated", "false"}}), nil
}

// onStack makes an action of one that needs the stack. It finds the stack by its name or its id.
func (s *Standin) onStack(do func(*Stack, url.Values) (string, error)) func(url.Values) (string, error) {
	return func(in url.Values) (string, error) {
		name := in.Get("StackName")
		for _, stack := range s.stacks {
			if stack.Name == name || stack.id() == name {
				return do(stack, in)
			}
		}
		return "", invalid("Stack with id %s does not exist", name)
	}
}

// field is an element of an answer. Its value is a text, fields or a list of fields.
type field struct {
	name  string
	value any
}

type fields []field

func xml(all fields) string {
	var out strings.Builder
	for _, f := range all {
		out.WriteString(element(f.name, f.value))
	}
	return out.String()
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func element(name string, value any) string {
	var inner string
	switch v := value.(type) {
	case fields:
		inner = xml(v)
	case []fields:
		for _, member := range v {
			inner += element("member", member)
		}
	default:
		inner = escape.Replace(fmt.Sprint(v))
	}
	return "<" + name + ">" + inner + "</" + name + ">"
}
