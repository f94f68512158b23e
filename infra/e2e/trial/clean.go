package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"latchkey/infra/deploy/cloud"
)

// removal is how long the removal of one thing may take.
const removal = 15 * time.Minute

// clean removes all that trials have made in this account and region, whatever state it is in, and on this machine all but the
// reports. Signing keys are only scheduled for their deletion: KMS keeps them for seven days, without cost.
func (t *trial) clean(ctx context.Context) error {
	for _, remove := range []func(context.Context) error{t.removeStacks, t.removeTables, t.removeKeys, t.removeAPIs, t.removeObjects, t.removeBucket} {
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

// deployed is a stack as CloudFormation describes it.
type deployed struct {
	StackName, StackStatus string
	Tags                   []struct{ Key, Value string }
	Outputs                []struct{ OutputKey, OutputValue string }
}

// ours reports whether a trial has made the stack: the tag is there once a change set was executed.
func (d deployed) ours() bool {
	for _, tag := range d.Tags {
		if tag.Key+"-" == prefix {
			return strings.HasPrefix(d.StackName, prefix)
		}
	}
	return strings.HasPrefix(d.StackName, prefix) && d.StackStatus == "REVIEW_IN_PROGRESS"
}

// outputs returns the values of the stack's outputs by their names.
func (d deployed) outputs() map[string]string {
	all := map[string]string{}
	for _, o := range d.Outputs {
		all[o.OutputKey] = o.OutputValue
	}
	return all
}

// stacks returns the stack of a name, or none; with the name "", all.
func (t *trial) stacks(name string) ([]deployed, error) {
	in := cloud.Params{}
	if name != "" {
		in["StackName"] = name
	}
	var out struct{ Stacks []deployed }
	err := t.aws.Call("cloudformation", "describe_stacks", in, &out)
	if err != nil && name != "" && strings.Contains(err.Error(), "does not exist") {
		return nil, nil
	}
	return out.Stacks, err
}

// removals is how often the removal of a stack is begun, before it is given up: CloudFormation may fail to remove one at first.
const removals = 3

func (t *trial) removeStacks(ctx context.Context) error {
	tried := map[string]int{}
	for begun := time.Now(); ; time.Sleep(t.pause()) {
		all, err := t.stacks("")
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(s deployed) bool { return !s.ours() })
		if len(all) == 0 {
			return nil
		}
		if time.Since(begun) > removal {
			return fmt.Errorf("%d stacks named %s… are not removed", len(all), prefix)
		}
		for _, s := range all {
			if s.StackStatus != "REVIEW_IN_PROGRESS" && strings.HasSuffix(s.StackStatus, "_IN_PROGRESS") {
				continue
			}
			t.say("Removing %s (%s)", s.StackName, s.StackStatus)
			tried[s.StackName]++
			err := t.program(ctx, t.out, []string{"STACK=" + s.StackName, "YES=1"}, t.built("deploy"), "undeploy")
			if err != nil && (ctx.Err() != nil || tried[s.StackName] == removals) {
				return fmt.Errorf("the stack %s is not removed: %w", s.StackName, err)
			}
		}
	}
}

// pause is the time between two looks.
func (t *trial) pause() time.Duration {
	if t.local {
		return 100 * time.Millisecond
	}
	return 10 * time.Second
}

func (t *trial) removeTables(context.Context) error {
	for begun := time.Now(); ; time.Sleep(t.pause()) {
		var out struct{ TableNames []string }
		if err := t.aws.Call("dynamodb", "list_tables", cloud.Params{}, &out); err != nil {
			return err
		}
		waits := 0
		for _, name := range out.TableNames {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			waits++
			named := cloud.Params{"TableName": name}
			err := t.aws.Call("dynamodb", "update_table", cloud.Params{"TableName": name, "DeletionProtectionEnabled": false}, nil)
			if errDelete := t.aws.Call("dynamodb", "delete_table", named, nil); errDelete != nil && time.Since(begun) > removal {
				return errors.Join(err, errDelete) // a table that is being changed takes no call for a moment
			}
		}
		if waits == 0 {
			return nil
		}
	}
}

func (t *trial) removeKeys(context.Context) error {
	var out struct {
		ResourceTagMappingList []struct {
			ResourceARN string
			Tags        []struct{ Key, Value string }
		}
	}
	in := cloud.Params{"ResourceTypeFilters": []string{"kms:key"}, "TagFilters": []cloud.Params{{"Key": "latchkey:stack"}}}
	if err := t.aws.Call("resourcegroupstaggingapi", "get_resources", in, &out); err != nil {
		return err
	}
	for _, key := range out.ResourceTagMappingList {
		ours := false
		for _, tag := range key.Tags {
			ours = ours || tag.Key == "latchkey:stack" && strings.HasPrefix(tag.Value, prefix)
		}
		if !ours {
			continue
		}
		var described struct{ KeyMetadata struct{ KeyState string } }
		if err := t.aws.Call("kms", "describe_key", cloud.Params{"KeyId": key.ResourceARN}, &described); err != nil {
			return err
		}
		if described.KeyMetadata.KeyState == "PendingDeletion" {
			continue
		}
		if err := t.aws.Call("kms", "schedule_key_deletion", cloud.Params{"KeyId": key.ResourceARN, "PendingWindowInDays": 7}, nil); err != nil {
			return err
		}
	}
	return nil
}

// removeAPIs removes the API of the import, and the one of the smoke test.
func (t *trial) removeAPIs(context.Context) error {
	var out struct{ Items []struct{ ID, Name string } }
	if err := t.aws.Call("apigateway", "get_rest_apis", cloud.Params{}, &out); err != nil {
		return err
	}
	for _, api := range out.Items {
		if !strings.HasPrefix(api.Name, prefix) {
			continue
		}
		if err := t.aws.Call("apigateway", "delete_rest_api", cloud.Params{"restApiId": api.ID}, nil); err != nil {
			return err
		}
	}
	return nil
}

// version is a version of an object. The SAM CLI's bucket keeps all.
type version struct{ Key, VersionID string }

// versions returns the versions of the bucket's objects whose keys begin with a text.
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
		if err := t.aws.Call("s3", "delete_object", cloud.Params{"Bucket": bucket, "Key": v.Key, "VersionId": v.VersionID}, nil); err != nil {
			return err
		}
	}
	return err
}

// removeBucket removes the SAM CLI's bucket if a trial has had it made, and nothing else is in it.
func (t *trial) removeBucket(context.Context) error {
	if _, err := os.Stat(t.ownBucket()); errors.Is(err, os.ErrNotExist) {
		return nil // the bucket was there before, or there is none
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
			t.say("Kept: the SAM CLI's bucket %s, which has other objects by now.", bucket)
			return os.Remove(t.ownBucket())
		}
	}
	for begun := time.Now(); ; time.Sleep(t.pause()) {
		left, err := t.stacks(samStack)
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
			return fmt.Errorf("the stack %s is not removed (%s)", samStack, left[0].StackStatus)
		}
	}
}
