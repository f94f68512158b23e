package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Settle fills the account with other people's resources, of each kind that a deployment or a trial makes and removes. Some names
// and tags look like a trial's. Later Harmed reports the resources that have changed. withBucket: the other people have used the
// SAM CLI, and have objects in its bucket.
func (s *Standin) Settle(withBucket bool) {
	tags := map[string]string{"team": "payments", "latchkey-trials": "none"}
	for _, name := range []string{"shop", "latchkey-shop", "latchkey-trial", "latchkey-trial-eu", "latchkey-trial-abc234"} {
		s.Leave(name, tags)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, status := range map[string]string{
		"shop": "UPDATE_COMPLETE", "latchkey-trial-eu": "CREATE_COMPLETE", "latchkey-trial-zzz777": "CREATE_COMPLETE", "latchkey-trial-yyy777": "REVIEW_IN_PROGRESS",
		bucketStack: "CREATE_COMPLETE",
	} {
		s.stacks[name] = &Stack{
			Name: name, Status: status, Protected: name == "shop", Template: "Resources: {Table: {Type: AWS::DynamoDB::Table}}",
			Parameters: map[string]string{"Size": "small"}, sets: []*changeSet{{name: "theirs", status: "CREATE_COMPLETE"}},
			tags: []fields{{{"Key", "team"}, {"Value", "payments"}}, {{"Key", "ManagedStackSource"}, {"Value", "AwsSamCli"}}},
		}
	}
	bucket := s.stacks[bucketStack].physical("bucket")
	for _, name := range []string{bucket + "/shop/1", bucket + "/latchkey-trial-eu/1", bucket + "/latchkey-trials", "latchkey-trial-abc234/1"} {
		s.objects[name] = []byte(name)
	}
	s.markers[bucket+"/shop/2"] = withBucket
	if !withBucket {
		delete(s.stacks, bucketStack)
		maps.DeleteFunc(s.objects, func(name string, _ []byte) bool { return strings.HasPrefix(name, bucket+"/") })
	}
	s.others = s.resources()
}

// resources returns the state of every resource in the account, by the resource's name. It leaves out keys whose deletion is scheduled.
func (s *Standin) resources() map[string]string {
	all := map[string]string{}
	for name, k := range s.stacks {
		all["the stack "+name] = fmt.Sprint(k.Status, k.Protected, k.Template, k.Policy, k.Parameters, k.tags)
		for _, c := range k.sets {
			all["the change set "+c.id(k)] = c.status
		}
	}
	for name, protected := range s.tables {
		all["the table "+name] = fmt.Sprint(protected, s.tags[tableARN(name)])
	}
	for arn, stack := range s.keys {
		if stack != "" {
			all["the key "+arn] = fmt.Sprint(stack, s.tags[arn])
		}
	}
	for _, a := range s.apis {
		text, _ := json.Marshal(a) // no error: only texts, maps and lists
		all["the API "+a.Name+" "+a.ID] = string(text)
	}
	for name, isMarked := range s.markers {
		if isMarked {
			all["the delete marker of "+name] = "latest"
		}
	}
	for name, content := range s.objects {
		all["the object "+name] = string(content)
	}
	return all
}

// Left returns the resources that were not in the account at Settle: stacks with their change sets, tables, keys whose deletion is
// not scheduled, APIs and objects.
func (s *Standin) Left() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.resources() {
		if _, ofOthers := s.others[name]; !ofOthers {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// Harmed returns the resources of Settle that have changed. It also returns the calls that the stand-in does not know, for logs,
// alarms and functions: Settle makes no such resources, so any change of them is reported.
func (s *Standin) Harmed() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.resources()
	for name, was := range s.others {
		if is, there := now[name]; !there || is != was {
			all = append(all, strings.TrimSpace(name+": "+is))
		}
	}
	slices.Sort(all)
	return append(all, s.unknown...)
}
