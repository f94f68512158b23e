package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Settle fills the account with other people's resources, of each kind that a deployment or a trial makes and removes. Some have
// names and tags like a trial's. Harmed reports afterwards what has changed. withBucket: the others have used the SAM CLI here,
// and have objects in its bucket.
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
	s.others = s.things()
}

// things returns all that is in the account, by its name, as text. A key whose deletion is scheduled is not there any more.
func (s *Standin) things() map[string]string {
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
		text, _ := json.Marshal(a) // texts, maps and lists, which never fail
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

// Left returns what is in the account and was not there at Settle: stacks with their change sets, tables, keys whose deletion is
// not scheduled, APIs and objects.
func (s *Standin) Left() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.things() {
		if _, ofOthers := s.others[name]; !ofOthers {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// Harmed returns the resources of Settle that have changed, and the calls that the stand-in does not know: calls for logs, alarms
// and functions, because Settle makes no such resources.
func (s *Standin) Harmed() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.things()
	for name, was := range s.others {
		if is, there := now[name]; !there || is != was {
			all = append(all, strings.TrimSpace(name+": "+is))
		}
	}
	slices.Sort(all)
	return append(all, s.strange...)
}
