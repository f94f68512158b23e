package template_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kinds are what a mutant does to the template. Each is drawn as often as any other.
var kinds = []string{"drops a statement", "drops a condition", "drops an action", "drops a property", "widens a list", "changes a number"}

// site is a place of the template at which a mutant can be made.
type site struct {
	path   string
	change func(*rand.Rand) (undo func(), what string) // what is "" when nothing can be changed here
}

// generator makes mutants of template.yaml.
type generator struct {
	document yaml.Node
	sites    map[string][]site   // by kind
	pool     map[string][]string // what lists of a name contain, such as all actions, by this name
}

// unchanged are properties that no mutant changes, because the stack would do the same, with the reason.
var unchanged = map[string]string{
	"Description": "a text for people", "ConstraintDescription": "a text for people",
	"Metadata": "how sam build compiles a function: without it no deployment begins",
}

func newGenerator(text []byte) (*generator, error) {
	g := &generator{sites: map[string][]site{}, pool: map[string][]string{}}
	if err := yaml.Unmarshal(text, &g.document); err != nil {
		return nil, err
	}
	root := g.document.Content[0]
	for i := 0; i < len(root.Content); i += 2 {
		if name := root.Content[i].Value; slices.Contains([]string{"Parameters", "Conditions", "Globals", "Resources", "Outputs"}, name) {
			g.walk(root.Content[i+1], "/"+name, name)
		}
	}
	return g, nil
}

// draw makes a mutant, and returns it as plain does, and what it changes.
func (g *generator) draw(random *rand.Rand) (mutant, what string) {
	for what == "" {
		kind := kinds[random.IntN(len(kinds))]
		s := g.sites[kind][random.IntN(len(g.sites[kind]))]
		undo, detail := s.change(random)
		if detail != "" {
			what = fmt.Sprintf("%s: %s: %s", s.path, kind, detail)
			mutant = plain(&g.document)
		}
		undo()
	}
	return mutant, what
}

func (g *generator) add(kind, path string, change func(*rand.Rand) (func(), string)) {
	g.sites[kind] = append(g.sites[kind], site{path, change})
}

// walk finds the sites below a node. name is the name of the property that has it.
func (g *generator) walk(n *yaml.Node, path, name string) {
	if _, skipped := unchanged[name]; skipped {
		return
	}
	isFunction := isShortForm(n)
	switch n.Kind {
	case yaml.MappingNode:
		g.mapping(n, path)
	case yaml.SequenceNode:
		g.sequence(n, path, name, isFunction)
	case yaml.ScalarNode:
		if wholeNumber.MatchString(n.Value) && !isFunction {
			g.add("changes a number", path, changeNumber(n))
		}
	}
}

// isShortForm reports whether a node has an intrinsic function as its tag, such as !Ref. YAML's own tags begin with !!.
func isShortForm(n *yaml.Node) bool {
	return strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!")
}

var wholeNumber = regexp.MustCompile(`^[0-9]{1,9}$`)

// changeNumber replaces a number by one that a mistake could give.
func changeNumber(n *yaml.Node) func(*rand.Rand) (func(), string) {
	return func(random *rand.Rand) (func(), string) {
		was := n.Value
		v, _ := strconv.Atoi(was) // no error: wholeNumber matched
		others := slices.DeleteFunc([]int{0, v + 1, max(v-1, 0), v * 10, v / 2}, func(o int) bool { return o == v })
		n.Value = strconv.Itoa(others[random.IntN(len(others))])
		return func() { n.Value = was }, was + " becomes " + n.Value
	}
}

// drop removes count nodes of a parent: 2 for a member of a mapping, its key and its value.
func drop(parent *yaml.Node, at, count int, what string) func(*rand.Rand) (func(), string) {
	return func(*rand.Rand) (func(), string) {
		was := parent.Content
		parent.Content = slices.Delete(slices.Clone(was), at, at+count)
		return func() { parent.Content = was }, what
	}
}

func (g *generator) mapping(n *yaml.Node, path string) {
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		_, skipped := unchanged[key]
		switch at := path + "/" + key; {
		case skipped || strings.HasPrefix(key, "Fn::"): // a node without its function means nothing
		case strings.Contains(path, "/Condition"): // in the section Conditions, or in a statement's Condition
			g.add("drops a condition", at, drop(n, i, 2, key))
		case key == "Condition" && value.Kind == yaml.MappingNode:
			g.add("drops a condition", at, drop(n, i, 2, "all"))
		default:
			g.add("drops a property", at, drop(n, i, 2, key))
		}
		g.walk(value, path+"/"+key, key)
	}
}

// sequence finds the sites of a list. The arguments of an intrinsic function are no list of values: none is dropped or
// added.
func (g *generator) sequence(n *yaml.Node, path, name string, isFunction bool) {
	onlyTexts := len(n.Content) > 0
	for i, e := range n.Content {
		at := fmt.Sprintf("%s/%d", path, i)
		kind := map[string]string{"Statement": "drops a statement", "Action": "drops an action"}[name]
		if kind == "" {
			kind = "drops a property"
		}
		if !isFunction {
			g.add(kind, at, drop(n, i, 1, e.Value))
		}
		isText := e.Kind == yaml.ScalarNode && strings.HasPrefix(e.Tag, "!!")
		onlyTexts = onlyTexts && isText
		if isText && !isFunction && !slices.Contains(g.pool[name], e.Value) {
			g.pool[name] = append(g.pool[name], e.Value)
		}
		g.walk(e, at, "")
	}
	if onlyTexts && !isFunction {
		g.add("widens a list", path, g.widen(n, name))
	}
}

// widen adds to a list what another list of this name has.
func (g *generator) widen(n *yaml.Node, name string) func(*rand.Rand) (func(), string) {
	return func(random *rand.Rand) (func(), string) {
		others := slices.DeleteFunc(slices.Clone(g.pool[name]), func(v string) bool {
			return slices.ContainsFunc(n.Content, func(e *yaml.Node) bool { return e.Value == v })
		})
		if len(others) == 0 {
			return func() {}, ""
		}
		was, more := n.Content, *n.Content[0]
		more.Value = others[random.IntN(len(others))]
		n.Content = append(slices.Clone(was), &more)
		return func() { n.Content = was }, "and " + more.Value
	}
}

// plain returns a node as JSON, its members in their order. A short form such as !Ref is the object {"Ref": …}.
func plain(n *yaml.Node) string {
	out := quoted(n.Value)
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(n.Content[0])
	case yaml.MappingNode:
		var members []string
		for i := 0; i < len(n.Content); i += 2 {
			members = append(members, quoted(n.Content[i].Value)+":"+plain(n.Content[i+1]))
		}
		out = "{" + strings.Join(members, ",") + "}"
	case yaml.SequenceNode:
		var items []string
		for _, e := range n.Content {
			items = append(items, plain(e))
		}
		out = "[" + strings.Join(items, ",") + "]"
	default:
		if slices.Contains([]string{"!!int", "!!bool", "!!float", "!!null"}, n.Tag) {
			out = n.Value // JSON has these in the same form
		}
	}
	if !isShortForm(n) {
		return out
	}
	name := strings.TrimPrefix(n.Tag, "!")
	if name == "GetAtt" {
		resource, attribute, _ := strings.Cut(n.Value, ".")
		out = quoted([]string{resource, attribute})
	}
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	return "{" + quoted(name) + ":" + out + "}"
}
