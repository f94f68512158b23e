package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/deploy/cloud"
)

// compare shows how the build's template differs from the deployed template. It makes no change set, so a role that may only read is
// enough. A workflow can therefore run it with the code of a pull request that no one has reviewed.
func (p *program) compare(context.Context) error {
	if p.deployed == nil {
		return fmt.Errorf("there is no stack %s to compare the template with", p.Stack)
	}
	var out struct{ TemplateBody string }
	if err := p.aws.Call("cloudformation", "get_template", cloud.Params{"StackName": p.Stack, "TemplateStage": "Original"}, &out); err != nil {
		return fmt.Errorf("the template of %s cannot be read: %w", p.Stack, err)
	}
	text, err := os.ReadFile(filepath.Join(p.buildDir(), "template.yaml"))
	if err != nil {
		return err
	}
	var was, is map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte(out.TemplateBody), &was), yaml.Unmarshal(text, &is)); err != nil {
		return fmt.Errorf("a template cannot be read: %w", err)
	}
	changes := differences("", was, is)
	p.show(changes)
	p.say("%d parts of the template differ. The functions' code and the replacement of resources are not compared. Nothing was deployed: DRY=templates.", len(changes))
	return p.checkKept(changes)
}

// differences lists the differences between two values of a template. It skips two things that the SAM CLI changes when it uploads:
// the address of a function's code, and metadata.
func differences(path string, was, is any) (all []change) {
	before, isMapBefore := was.(map[string]any)
	after, isMapAfter := is.(map[string]any)
	if isMapBefore && isMapAfter {
		names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if name != "Metadata" {
				all = append(all, differences(path+"."+name, before[name], after[name])...)
			}
		}
		return all
	}
	uploaded, _ := was.(string)
	if reflect.DeepEqual(was, is) || strings.HasSuffix(path, ".CodeUri") && strings.HasPrefix(uploaded, "s3://") {
		return nil
	}
	section, name, _ := strings.Cut(strings.Trim(path, "."), ".")
	c := change{Action: "Modify", LogicalResourceID: name, ResourceType: section}
	if is == nil {
		c.Action = "Remove"
	} else if was == nil {
		c.Action = "Add"
	}
	var d detail
	d.Target.Name, d.Target.BeforeValue, d.Target.AfterValue = "value", inOneLine(was), inOneLine(is)
	c.Details = []detail{d}
	return []change{c}
}

// inOneLine returns a value as JSON, or "" when there is none.
func inOneLine(value any) string {
	text, err := json.Marshal(value)
	if err != nil || value == nil {
		return ""
	}
	return string(text)
}
