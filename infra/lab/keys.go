package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"latchkey/infra/lab/backing"
)

// makeKeys creates the template's KMS keys, as CloudFormation would, and resolves the template
// again with their ARNs. It keeps a key of an earlier run if the KMS still knows it.
func (s *Stack) makeKeys(ctx context.Context) error {
	o := s.resolveOptions(s.template.Parameters)
	client := backing.NewKMSClient(s.DataPlane.KMS)
	path := filepath.Join(s.dir, "kms-keys.json")
	known := map[string]string{} // ARN by logical id
	if b, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(b, &known); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, name := range s.template.Named("AWS::KMS::Key") {
		meta, err := keep(ctx, client, known[name])
		if err != nil {
			if meta, err = makeKey(ctx, client, s.template.Resources[name].Properties); err != nil {
				return fmt.Errorf("key %s: %w", name, err)
			}
		}
		known[name] = aws.ToString(meta.Arn)
		o.Physical[name], o.Attributes[name+".Arn"] = aws.ToString(meta.KeyId), aws.ToString(meta.Arn)
	}
	b, err := json.Marshal(known)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return err
	}
	s.template, err = s.template.Resolve(o)
	return err
}

// keep returns the description of a key that the KMS knows, and an error for others.
func keep(ctx context.Context, client *kms.Client, arn string) (*types.KeyMetadata, error) {
	if arn == "" {
		return nil, os.ErrNotExist
	}
	out, err := client.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &arn})
	if err != nil {
		return nil, err
	}
	return out.KeyMetadata, nil
}

func makeKey(ctx context.Context, client *kms.Client, properties map[string]any) (*types.KeyMetadata, error) {
	spec, _ := properties["KeySpec"].(string)
	usage, _ := properties["KeyUsage"].(string)
	in := &kms.CreateKeyInput{KeySpec: types.KeySpec(spec), KeyUsage: types.KeyUsageType(usage)}
	tags, _ := properties["Tags"].([]any)
	for _, t := range tags {
		tag, _ := t.(map[string]any)
		in.Tags = append(in.Tags, types.Tag{TagKey: aws.String(fmt.Sprint(tag["Key"])), TagValue: aws.String(fmt.Sprint(tag["Value"]))})
	}
	out, err := client.CreateKey(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.KeyMetadata, nil
}
