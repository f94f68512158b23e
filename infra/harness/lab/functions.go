package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"latchkey/infra/harness/lab/proxy"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/lab/gateway"
	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
)

// translate reads the template. If the lab cannot serve a part of the template, translate fails before
// any function is built.
func (s *Stack) translate(ctx context.Context) error {
	var err error
	if s.Template, err = translated.Translate(ctx, s.options.Template, s.resolveOptions(s.options.Parameters)); err != nil {
		return err
	}
	api, errAPI := s.Template.API()
	if errAPI == nil { // only check whether the gateway can serve the API
		_, errAPI = gateway.New(api, nil, nil, "")
	}
	_, errSources := s.Template.EventSources()
	_, errQueues := s.Template.Queues()
	schedules, errSchedules := s.Template.Schedules()
	functions, err := s.Template.Functions()
	if err := errors.Join(err, errAPI, errSources, errQueues, errSchedules); err != nil {
		return fmt.Errorf("%s: %w", s.options.Template, err)
	}
	s.api = api
	for _, schedule := range schedules {
		s.schedules = append(s.schedules, &serialSchedule{Schedule: schedule})
	}
	if err := s.openURLs(); err != nil {
		return fmt.Errorf("%s: %w", s.options.Template, err)
	}
	if s.sources, err = sourcesOf(s.options.Template, filepath.Join(s.dir, "build"), functions); err != nil {
		return err
	}
	return s.translateConsumer(ctx)
}

// resolveOptions returns the options that resolve the template's references to local names and addresses.
func (s *Stack) resolveOptions(parameters map[string]string) translated.Options {
	names, urls := map[string]string{}, map[string]string{}
	maps.Copy(names, s.options.Names)
	for id, port := range s.urlPorts {
		urls[id+".FunctionUrl"] = loopback(port) + "/"
	}
	return translated.Options{
		StackName: s.options.Name, Parameters: parameters, Physical: names, Attributes: urls,
		QueueEndpoint: loopback(s.Ports.Queue), Progress: s.options.Progress,
	}
}

// startFunctions makes the functions ready to be called. The first call of a function starts its process.
func (s *Stack) startFunctions(context.Context) error {
	if err := s.startAccess(); err != nil {
		return fmt.Errorf("the roles of %s: %w", s.options.Template, err)
	}
	var err error // read the functions again: their variables now have the keys and URLs that were made after translate
	if s.sources.functions, err = s.Template.Functions(); err != nil {
		return err
	}
	own, errOwn := s.sources.lambdaFunctions(s.AWS)
	consumers, errConsumer := s.consumer.lambdaFunctions(s.AWS) // iam knows no roles of a consumer, so it refuses these functions' calls to AWS
	if err := errors.Join(errOwn, errConsumer); err != nil {
		return err
	}
	s.Lambda, err = lambda.Start(lambda.Options{
		Functions: append(own, consumers...), Port: s.Ports.Runtime, LogDir: s.LogDir, MaxCopies: s.options.MaxCopies, Concurrency: s.options.Concurrency,
	})
	return err
}

// openURLs listens on a port for each function URL, and resolves the template with the addresses.
func (s *Stack) openURLs() error {
	var err error
	if s.urls, err = s.Template.FunctionURLs(); err != nil {
		return err
	}
	// Each declared URL has a fixed port, also while its condition is false, so that its port stays the same after Deploy.
	declared := s.Template.Declared(translated.URLType)
	s.FunctionURLs = make(map[string]string)
	for _, u := range s.urls {
		s.urlPorts[u.ID] = s.Ports.URLs + slices.Index(declared, u.ID)
		if err := s.listen(s.urlPorts[u.ID]); err != nil {
			return err
		}
		s.FunctionURLs[u.Function] = loopback(s.urlPorts[u.ID])
	}
	s.Template, err = s.Template.Resolve(s.resolveOptions(s.Template.Parameters))
	return err
}

// startAccess serves the endpoint at which the functions call AWS. The endpoint allows or refuses each call
// by the role of the function.
func (s *Stack) startAccess() error {
	var err error
	if s.Access, err = iam.New(s.Template); err != nil {
		return err
	}
	if err := s.Access.Platform(s.Template); err != nil {
		return err
	}
	s.Proxy, err = proxy.New(s.Template, s.Access, map[string]string{
		"dynamodb": s.DataPlane.DynamoDB, "kms": s.DataPlane.KMS, "sqs": s.DataPlane.SQS, "events": s.DataPlane.SQS,
	}, s.options.Network, func(d *iam.DeniedError) {
		if strings.HasPrefix(d.Function, ConsumerPrefix) {
			s.options.Progress("refused: " + d.Error() + " (the lab does not read the roles of a consumer)")
			return
		}
		s.options.Progress("refused, as AWS would: " + d.Error() + " (see its role in the template)")
	})
	if err != nil {
		return err
	}
	s.serve(s.Proxy, s.Ports.AWS)
	return nil
}

// makeKeys creates the template's KMS keys, as CloudFormation would, and resolves the template
// again with their ARNs. It keeps a key that the KMS still knows.
func (s *Stack) makeKeys(ctx context.Context) error {
	o := s.resolveOptions(s.Template.Parameters)
	client := backing.NewKMSClient(s.DataPlane.KMS)
	for _, name := range s.Template.Named("AWS::KMS::Key") {
		id, exists := s.keys[name]
		if exists { // the KMS has lost the key if it was stopped since then
			_, err := client.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &id})
			exists = err == nil
		}
		if !exists {
			var err error
			if id, err = makeKey(ctx, client, s.Template.Resources[name].Properties); err != nil {
				return fmt.Errorf("key %s: %w", name, err)
			}
		}
		s.keys[name], o.Physical[name] = id, id
	}
	var err error
	s.Template, err = s.Template.Resolve(o)
	return err
}

// makeKey creates a key and returns its id.
func makeKey(ctx context.Context, client *kms.Client, properties map[string]any) (string, error) {
	spec, _ := properties["KeySpec"].(string)
	usage, _ := properties["KeyUsage"].(string)
	in := &kms.CreateKeyInput{KeySpec: types.KeySpec(spec), KeyUsage: types.KeyUsageType(usage)}
	for _, t := range translated.List(properties["Tags"]) {
		tag := translated.Object(t)
		in.Tags = append(in.Tags, types.Tag{TagKey: aws.String(fmt.Sprint(tag["Key"])), TagValue: aws.String(fmt.Sprint(tag["Value"]))})
	}
	out, err := client.CreateKey(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.KeyMetadata.KeyId), nil
}
