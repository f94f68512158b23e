package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
)

// removal is the time limit for the removal of one resource.
const removal = 15 * time.Minute

// clean removes everything that trials have made in this account and region, in any state, and their files on this machine except
// the reports. It only schedules the deletion of signing keys: KMS keeps them for seven days, without cost.
func (t *trial) clean(ctx context.Context) error {
	for _, remove := range []func(context.Context) error{t.removeStacks, t.removeTagged, t.removeObjects, t.removeBucket} {
		if err := remove(ctx); err != nil {
			return err
		}
	}
	builds, err := filepath.Glob(filepath.Join(t.root, ".local", "deploy", prefix+"*"))
	for _, path := range append(builds, filepath.Join(t.dir, keyFile), filepath.Join(t.dir, "empty.yaml"), filepath.Join(t.dir, "empty.yaml.packaged")) {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// named matches the names of trials' stacks (see try). A match is no proof, because other stacks may have such names.
var named = regexp.MustCompile("^" + prefix + "[a-z2-7]{6}$")

// ours reports whether a trial has made the stack. The stack has the trials' tag once a change set was executed; before that, the
// change set has the tag.
func (t *trial) ours(s cloud.Stack) (bool, error) {
	if !named.MatchString(s.StackName) || s.StackStatus != cloud.InReview {
		return named.MatchString(s.StackName) && hasTag(s), nil
	}
	sets, err := t.aws.ChangeSets(s.StackName)
	return slices.ContainsFunc(sets, hasTag), err
}

// hasTag reports whether a stack or a change set has the trials' tag.
func hasTag(s cloud.Stack) bool {
	return slices.ContainsFunc(s.Tags, func(one settings.Tag) bool { return one.Key == settings.TrialTag })
}

// removals is the number of tries to remove a stack: the first try of CloudFormation may fail.
const removals = 3

func (t *trial) removeStacks(ctx context.Context) error {
	tried := map[string]int{}
	for begun := time.Now(); ; time.Sleep(t.pause()) {
		all, err := t.aws.Stacks("")
		all = slices.DeleteFunc(all, func(s cloud.Stack) bool {
			ours, errOurs := t.ours(s)
			err = errors.Join(err, errOurs)
			return !ours
		})
		// Remove Latchkey's stacks before the companions: a bus with a rule of Latchkey's stack cannot be removed.
		isLatchkeys := slices.ContainsFunc(all, func(s cloud.Stack) bool { return len(s.Values()) > 0 })
		if err != nil || len(all) == 0 {
			return err
		}
		if time.Since(begun) > removal {
			return fmt.Errorf("%d stacks named %s… could not be removed", len(all), prefix)
		}
		for _, s := range all {
			if s.StackStatus != cloud.InReview && strings.HasSuffix(s.StackStatus, "_IN_PROGRESS") || isLatchkeys && len(s.Values()) == 0 {
				continue
			}
			tried[s.StackName]++
			if err := t.removeStack(ctx, s); err != nil && (ctx.Err() != nil || tried[s.StackName] == removals) {
				return fmt.Errorf("the stack %s could not be removed: %w", s.StackName, err)
			}
		}
	}
}

// removeStack removes a stack. For Latchkey's stack it runs the program of make undeploy. A companion has no parameters; CloudFormation
// removes it.
func (t *trial) removeStack(ctx context.Context, s cloud.Stack) error {
	t.say("Removing %s (%s)", s.StackName, s.StackStatus)
	if len(s.Values()) == 0 && s.StackStatus != cloud.InReview {
		return t.aws.Call("cloudformation", "delete_stack", cloud.Params{"StackName": s.StackName}, nil)
	}
	return t.program(ctx, t.out, []string{"STACK=" + s.StackName, "YES=1"}, t.built("deploy"), "undeploy")
}

// pause is the time between two checks of AWS.
func (t *trial) pause() time.Duration {
	if t.local {
		return 100 * time.Millisecond
	}
	return 10 * time.Second
}

// removeTagged removes the tables, keys and APIs with the trials' tag. AWS may list a resource for a moment after its removal.
func (t *trial) removeTagged(context.Context) error {
	for begun := time.Now(); ; time.Sleep(t.pause()) {
		var out struct {
			ResourceTagMappingList []struct{ ResourceARN string }
		}
		in := cloud.Params{"ResourceTypeFilters": []string{"dynamodb:table", "kms:key", "apigateway"}, "TagFilters": []cloud.Params{{"Key": settings.TrialTag}}}
		if err := t.aws.Call("resourcegroupstaggingapi", "get_resources", in, &out); err != nil {
			return err
		}
		var remaining error
		for _, one := range out.ResourceTagMappingList {
			if err := t.remove(one.ResourceARN); err != nil && !strings.Contains(err.Error(), "NotFoundException") {
				remaining = errors.Join(remaining, err)
			}
		}
		if remaining == nil || time.Since(begun) > removal {
			return remaining
		}
	}
}

// errRemoving means that AWS is removing the table, which takes a moment.
var errRemoving = errors.New("the table is being removed")

// remove removes a table, a key or an API. Without an error the resource is removed, or a key's deletion is scheduled.
func (t *trial) remove(arn string) error {
	kind, name, _ := strings.Cut(arn[strings.LastIndex(arn, ":")+1:], "/")
	api, isAPI := strings.CutPrefix(name, "restapis/")
	switch {
	case kind == "table":
		protection := t.aws.Call("dynamodb", "update_table", cloud.Params{"TableName": name, "DeletionProtectionEnabled": false}, nil)
		if err := t.aws.Call("dynamodb", "delete_table", cloud.Params{"TableName": name}, nil); err != nil {
			return errors.Join(err, protection) // during a change, a table refuses calls for a moment
		}
		return errRemoving
	case kind == "key":
		var described struct{ KeyMetadata struct{ KeyState string } }
		err := t.aws.Call("kms", "describe_key", cloud.Params{"KeyId": arn}, &described)
		if err != nil || described.KeyMetadata.KeyState == "PendingDeletion" {
			return err
		}
		return t.aws.Call("kms", "schedule_key_deletion", cloud.Params{"KeyId": arn, "PendingWindowInDays": 7}, nil)
	case isAPI && !strings.Contains(api, "/"):
		return t.aws.Call("apigateway", "delete_rest_api", cloud.Params{"restApiId": api}, nil)
	}
	return nil // a part of an API: it is removed with the API
}

// version is a version of an object. The SAM CLI's bucket keeps all versions.
type version struct{ Key, VersionID string }

// versions returns all versions of the bucket's objects with a key that begins with a text.
func (t *trial) versions(bucket, begin string) ([]version, error) {
	var out struct{ Versions, DeleteMarkers []version }
	err := t.aws.Call("s3", "list_object_versions", cloud.Params{"Bucket": bucket, "Prefix": begin}, &out)
	return append(out.Versions, out.DeleteMarkers...), err
}

func (t *trial) removeObjects(context.Context) error {
	bucket, err := t.samBucket()
	if err != nil || bucket == "" {
		return err
	}
	all, err := t.versions(bucket, prefix)
	for _, v := range all {
		if stack, _, _ := strings.Cut(v.Key, "/"); !named.MatchString(stack) {
			continue
		}
		if err := t.aws.Call("s3", "delete_object", cloud.Params{"Bucket": bucket, "Key": v.Key, "VersionId": v.VersionID}, nil); err != nil {
			return err
		}
	}
	return err
}

// removeBucket removes the SAM CLI's bucket if it was made for a trial and is empty.
func (t *trial) removeBucket(context.Context) error {
	if _, err := os.Stat(t.ownBucket()); errors.Is(err, os.ErrNotExist) {
		return nil // the bucket existed before the trial, or does not exist
	}
	bucket, err := t.samBucket()
	if err != nil {
		return err
	}
	if bucket != "" {
		others, err := t.versions(bucket, "")
		if err != nil {
			return err
		}
		if len(others) > 0 {
			t.say("Kept: the SAM CLI's bucket %s, which now has other objects.", bucket)
			return os.Remove(t.ownBucket())
		}
	}
	for begun := time.Now(); ; time.Sleep(t.pause()) {
		left, err := t.aws.Stacks(samStack)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return os.Remove(t.ownBucket())
		}
		if !strings.HasSuffix(left[0].StackStatus, "_IN_PROGRESS") {
			if err := t.aws.Call("cloudformation", "delete_stack", cloud.Params{"StackName": samStack}, nil); err != nil {
				return err
			}
		}
		if time.Since(begun) > removal {
			return fmt.Errorf("the stack %s could not be removed (%s)", samStack, left[0].StackStatus)
		}
	}
}
