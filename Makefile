# Every target accepts PORT=, so two stacks can run at the same time.
PORT ?= 3000
EMAIL ?=
NAME ?=
SUB ?=
KIND ?= user
KEY ?=
DO ?=
ARCH ?=
BASE_URL ?= http://127.0.0.1:$(PORT)
TOKEN_CMD ?= make -s token PORT=$(PORT)
STACK ?=
FUNCTION ?=
PKG ?=
RUN ?=
FOR ?=
SEED ?=
SAMPLE ?=
PARAMETERS ?=
CONSUMER ?=
CONSUMER_PARAMETERS ?=

# Read by the programs below. TOKEN_CMD finds EMAIL and NAME in its environment.
export BASE_URL TOKEN_CMD STACK

# Recipes read these from the environment, so that a quote in a name is only a quote.
export EMAIL NAME SUB KIND FUNCTION FILE SHOTS PARAMETERS CONSUMER CONSUMER_PARAMETERS

# In a value that was given to make, a $ is only a $.
literal = $(if $(filter command,$(origin $1)),$(eval override $1 := $$(value $1))$(eval export $1))
$(foreach v,PARAMETERS CONSUMER_PARAMETERS TAGS ISSUER AUDIENCE EMAIL NAME SUB TOKEN_CMD,$(call literal,$v))

# ctl, tests and linters compile with the flags of the functions, so that all share Go's build cache. exec replaces the shell by ctl,
# which then gets SIGTERM; "go run" would not pass it on. The harness is a separate module.
BIN = .local/bin
HARNESS = infra/harness
IN_HARNESS = $(AS_DEPLOYED) go -C $(HARNESS)
AS_DEPLOYED = CGO_ENABLED=0 GOFLAGS='-trimpath -tags=lambda.norpc -ldflags=-s'
TO_BIN = build -buildvcs=false -o ../../$(BIN)/
CTL = mkdir -p $(BIN) && $(IN_HARNESS) $(TO_BIN) ./local/ctl && exec $(BIN)/ctl -port $(PORT)

.DEFAULT_GOAL := help
.PHONY: help run demo token receiver catalogue stack sam test test-load test-packages t e2e fuzz load smoke hammer walk pictures prove doors exercises mutants clients bench bench-gate lint lint-template lint-code lint-go lint-modules lint-unused lint-pins lint-shell deploy trial undeploy check-consumers build generate home release

#? TARGET=run
help: ## this list; with TARGET=run the options of a target
	@awk -F ':.*## ' -v only='$(TARGET)' '/^##@ / && !only {printf "\n%s\n", substr($$0, 5)} /^#[?] / {options = options "      " substr($$0, 4) "\n"} \
	/^[a-z0-9-]+:.*## / {if (!only || $$1 == only) printf "  make %-15s %s\n%s", $$1, $$2, only ? options : ""; options = ""; found = found || $$1 == only} \
	END {if (only && !found) {print "there is no target " only; exit 1}}' $(MAKEFILE_LIST)

##@ Run it

#? PORT=3000
#? TAP=1 prints what your event bus gets
#? CONCURRENCY=10 runs at most 10 functions at once, as a new AWS account does
#? PARAMETERS='Issuer=… Audience=…' of the template
#? CONSUMER=your/template.yaml runs your API beside it
#? CONSUMER_PARAMETERS='Name=value …' of that template
run: ## the whole product on this machine, at http://127.0.0.1:3000

#? the options of run
demo: ## the same, with three customers and what they did in thirty days

run demo:
	@mkdir -p .local/bin && { [ -e .local/bin/install ] || go -C $(HARNESS) list -deps ./local/ctl >/dev/null 2>.local/modules.log || \
		{ echo 'The first run here downloads Go modules, and could not (.local/modules.log says why). Connect this machine, or set GOPROXY, and run it again.' >&2; exit 1; }; }
	@$(AS_DEPLOYED) go build -buildvcs=false -o .local/bin/ ./infra/tools/parts/install
	@.local/bin/install & $(CTL) -parameters "$$PARAMETERS" -consumer "$$CONSUMER" -consumer-parameters "$$CONSUMER_PARAMETERS" $(if $(TAP),-tap) $(if $(CONCURRENCY),-concurrency '$(CONCURRENCY)') $@

#? EMAIL= NAME= of the person
#? KIND=unverified, service, idtoken or userinfo
#? SUB= the subject, in place of one made from EMAIL
token: ## an access token of the local issuer
	@$(CTL) -kind "$$KIND" -email "$$EMAIL" -name "$$NAME" -sub "$$SUB" token

#? KEY=lk_… of the app
receiver: ## a webhook receiver, which prints what it verified
	@mkdir -p .local/bin && go build -o .local/bin/receiver ./infra/examples/receivers/cli
	@exec .local/bin/receiver # not "go run", which passes no SIGTERM on

#? FILE= as infra/examples/catalogue.json
#? BASE_URL= TOKEN_CMD= of the deployment, for a service with the right catalogue.write
catalogue: export KIND = service
catalogue: ## checks your scopes and event types, and puts them
	@mkdir -p $(BIN) && $(IN_HARNESS) $(TO_BIN) ./catalogue && exec $(BIN)/catalogue

#? DO=stop-db, start-db, pause-db, resume-db
#? DO=stop-kms, start-kms (without keys)
#? DO=schedule FUNCTION=SweepFunction calls a scheduled function
#? DO=clean-data once the stack has ended
stack: ## changes the running stack, or its data once it has ended
	@$(CTL) -function "$$FUNCTION" '$(DO)'

sam: ## the same functions under sam local start-api, with a Docker engine
	@$(CTL) sam

##@ Test it

# No result comes from Go's test cache, which does not see the files that a test compiles or that another program reads. gotestsum
# shows each failure, and at the end each skip with its reason. `make lint` vets. The packages that wait longest, mostly for the
# database, come first. The end-to-end tests measure times, so they run alone at the end. The test under load waits two thirds of its
# time, so the other packages run at the same time, with a lower priority. MINUTE has quotes for the shell and for go, which splits it.
FIRST = latchkey/pkg/store latchkey/pkg/pipeline latchkey/pkg/api latchkey/pkg/pipeline/outbound
PACKAGES = $(FIRST) $(filter-out $(shell go list $(FIRST) ./infra/docs/exercises ./infra/examples/vectors/libraries),$(shell go list ./...))
HARNESS_PACKAGES = $(filter-out $(shell go -C $(HARNESS) list ./e2e ./e2e/prove),$(shell go -C $(HARNESS) list ./...))
ALONE = env -u BASE_URL -u TOKEN_CMD
TOOLS = tool -modfile='$(CURDIR)/infra/tools/$(1)/tools.mod'
GOTESTSUM = $(call TOOLS,test) gotestsum --format pkgname --format-hide-empty-pkg -- -count=1 -vet=off -timeout 30m
GO_TEST = $(ALONE) $(AS_DEPLOYED) go $(GOTESTSUM)
HARNESS_TEST = $(ALONE) $(IN_HARNESS) $(GOTESTSUM)
MINUTE = -exec "'$(CURDIR)/infra/tools/test/minute'"
UNDER_LOAD = TestWebhooksUnderLoad

test: ## everything: unit, store, API, template, end to end, on SAM local
	@$(MAKE) --no-print-directory --jobs=2 test-load test-packages
	@$(HARNESS_TEST) -parallel 8 -skip '^($(UNDER_LOAD)|TestDeployed|TestSmoke|TestFrontDoor)$$' ./e2e

test-load:
	@$(HARNESS_TEST) -run '^$(UNDER_LOAD)$$' ./e2e
# The machine's time zone must not matter: the packages run half a day ahead of UTC, and the limits' packages also half a day behind it.
test-packages:
	@TZ=Pacific/Kiritimati nice -n 19 $(GO_TEST) -p 3 $(MINUTE) $(PACKAGES)
	@TZ=Pacific/Kiritimati nice -n 19 $(HARNESS_TEST) -p 3 $(MINUTE) $(HARNESS_PACKAGES)
	@TZ=America/Adak nice -n 19 $(GO_TEST) -skip '^(TestFaultsOfProcessesPassNoLimit|TestProcessesNeverPassALimit)$$' ./pkg/limit ./pkg/guard
	@TZ=America/Adak nice -n 19 $(GO_TEST) -run 'Us(e|age)|Limit|Allowance' ./pkg/store

# Without inlining, pkg/store compiles in half of the time. `make lint` vets.
#? PKG=store
#? RUN=TestName
#? LATCHKEY_DYNAMODB=http://127.0.0.1:3002 before it uses a running database
t: ## one package, or one test of it
	@go test -count=1 -vet=off -gcflags=-l -run '$(RUN)' ./$(or $(wildcard pkg/$(PKG)),$(PKG))

#? BASE_URL= TOKEN_CMD= of the deployment
#? RUN=RolesGovernTheRoutes
e2e: ## the black-box suite on any base URL, or one case of it
	@go -C $(HARNESS) test -count=1 -v -run '^TestDeployed$$/$(RUN)' ./e2e

#? FOR=5m for each target; the default is 30 seconds
#? RUN=words of a package or a target
fuzz: ## fuzzes each target of pkg in turn; make test runs the seeds
	@list=$$($(AS_DEPLOYED) go test -vet=off -list '^Fuzz' ./pkg/...) || { echo "$$list"; exit 1; }; \
	targets=$$(echo "$$list" | awk '/^Fuzz/ { names[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2 "=" names[i]; n = 0 }' | grep -e '$(RUN)') || { echo 'no target has these words'; exit 1; }; \
	failed=; for target in $$targets; do echo "$$target"; \
		$(AS_DEPLOYED) go test -vet=off -run '^$$' -fuzz "^$${target#*=}$$" -fuzztime $(or $(FOR),30s) -fuzzminimizetime 1s "$${target%=*}" || failed="$$failed $$target"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

#? also after a million rows of another tenant, with 20,000 published events,
#? and with 2,000 in an account of ten functions
load: ## webhooks for 200 s, 100,000 dead keys; make test has short forms
	@DEAD_KEYS=100000 $(GO_TEST) -v -run '^TestASuspensionReadsNoKeyTwice$$' ./pkg/store
	@LOAD_SECONDS=200 go -C $(HARNESS) test -count=1 -v -timeout 100m -parallel 1 -run '^(TestWebhooksUnderLoad|TestATenantsBacklogDelaysNoOther|TestAFloodOfPublishedEventsDelaysNoOther|TestPublishedEventsSurviveKills|TestTenConcurrentFunctionsGiveNoWrongAnswer)$$' ./e2e

#? BASE_URL= TOKEN_CMD= of the deployment
#? STACK=
smoke: ## tests what only a deployment can prove
	@SMOKE=1 go -C $(HARNESS) test -count=1 -v -run '^TestSmoke$$' ./e2e

#? needs Debian's packages caddy, nginx-light and php-cgi
doors: ## an API, servers and proxies that accept our keys and roles
	@$(HARNESS_TEST) -run '^TestFrontDoor$$' ./e2e

exercises: ## applies the examples of infra/docs/exercises, and tests them
	@$(GO_TEST) ./infra/docs/exercises

#? PROCESSES=8
hammer: ## processes that share the limits of keys never pass them
	@$(AS_DEPLOYED) HAMMER_PROCESSES=$(or $(PROCESSES),8) go test -count=1 -vet=off -v -parallel 1 -run '^(TestProcessesNeverPassALimit|TestFaultsOfProcessesPassNoLimit)$$' ./pkg/guard

#? SHOTS=a folder for pictures of each page
#? needs Debian's packages chromium and fonts-dejavu-core, and Node; checks types and accessibility too
walk: ## people walk through the console in Chromium
	@$(IN_HARNESS) run ./e2e/walk -shots "$$SHOTS"

#? needs what walk needs
pictures: ## takes the pictures of the documents again, from the demo's data
	@$(IN_HARNESS) run ./e2e/walk -pictures

# In a run of minutes it pays that the database's JVM compiles for speed; the stack's default starts sooner. The clients and the gateway
# collect garbage less often. The functions use the template's GOGC.
STEADY = _JAVA_OPTIONS=-XX:TieredStopAtLevel=4 GOGC=400
#? FOR=10m
#? SEED= of a violation repeats it
#? RUN=words of a kind
#? SOAK=1 without faults
#? PLANTED=1 checks that each planted fault is found
#? PUBLISH=1 writes infra/docs/proof.md
#? runs make hammer with 64 processes first, unless a word below is given
prove: ## histories of racing clients on a bad network: promises, violations
	@$(if $(PLANTED)$(SOAK)$(RUN)$(SEED),,$(MAKE) --no-print-directory hammer PROCESSES=64)
	@$(ALONE) $(STEADY) $(IN_HARNESS) run $(if $(PLANTED),./mutants -lists infra/harness/e2e/prove/planted,./e2e/prove -run '$(RUN)' -seed '$(SEED)' $(if $(FOR)$(SOAK),-for $(or $(FOR),10m)) $(if $(SOAK),-soak) $(if $(PUBLISH),-publish))

mutants: export MUTANTS = 300
#? RUN=a promise or a package
#? SHORT=1
#? SAMPLE=a seed, for packages that need a database
mutants: ## plants known bugs and random mutants: tests must find them
	@nice $(ALONE) $(IN_HARNESS) run ./mutants -run '$(RUN)' $(if $(SHORT),-short) $(if $(SAMPLE),-seed $(SAMPLE))
	@$(if $(RUN)$(SHORT)$(SAMPLE),,$(ALONE) $(AS_DEPLOYED) go test -count=1 -v -run '^TestMutantsOfTheTemplateAreFound$$' ./infra/template)

#? RUN=words of a name
#? SHORT=1
clients: ## clients made of the contract, Schemathesis, JWT libraries
	@$(IN_HARNESS) run ./e2e/clients -run '$(RUN)' $(if $(SHORT),-short)

#? RUN=the beginning of a figure's name
bench: ## measures what the functions cost, and writes the results
	@$(IN_HARNESS) run ./e2e/bench -only '$(RUN)' $(if $(RUN),,&& $(MAKE) -s generate)

bench-gate: ## the same; fails if a figure misses its goal or is 5 % worse
	@$(IN_HARNESS) run ./e2e/bench -gate

LINTER = $(call TOOLS,lint)
lint: ## linters, pinned, and the template; each runs, whichever fails
	@$(MAKE) --no-print-directory --keep-going --jobs=2 lint-template lint-code

lint-template: # first: it waits for the SAM CLI's installation
	@$(AS_DEPLOYED) go run ./infra/deploy validate
lint-code: lint-go lint-modules lint-unused lint-pins lint-shell
lint-go:
	@$(AS_DEPLOYED) go $(LINTER) golangci-lint run --allow-parallel-runners ./...
	@$(IN_HARNESS) $(LINTER) golangci-lint run --allow-parallel-runners ./...
lint-modules:
	@go mod tidy -diff && go -C $(HARNESS) mod tidy -diff
# A workspace has both modules, so code of the product that only the harness calls counts as used. It is in its own folder, where
# no copy of the repository finds it.
lint-unused:
	@export GOWORK='$(CURDIR)/.local/lint/go.work' && rm -rf .local/lint && mkdir -p .local/lint && deadcode=$$(GOWORK=off go $(LINTER) -n deadcode) && \
	go work init . $(HARNESS) 2>/dev/null && unused=$$("$$deadcode" -test ./... ./$(HARNESS)/...) && [ -z "$$unused" ] || { echo "$$unused"; false; }
lint-pins:
	@! grep -hE '^[ -]*uses:' .github/workflows/*.yml | grep -vE '@[0-9a-f]{40}( |$$)' || { echo 'pin each action by its commit: a tag can be moved'; false; }
lint-shell:
	@if [ -n "$$CI" ] || command -v shellcheck >/dev/null; then shellcheck .ci/run; \
	else echo 'SKIPPED: shellcheck is not installed. CI never skips it.' >&2; fi

##@ Deploy it

# These commands read make's variables from the environment.
#? ISSUER= AUDIENCE= of your identity provider
#? STACK= REGION= ARCH=arm64 or amd64
#? YES=1 asks nothing
#? DRY=1 only shows the change set; DRY=templates only compares the templates
#? TAGS='name=value …'
#? PARAMETERS='Name=value …'
#? REPLACE=names of protected resources that may be replaced
#? PROTECT=0
deploy: ## deploys to AWS, and proves it
	@mkdir -p $(BIN) && $(AS_DEPLOYED) go build -buildvcs=false -o $(BIN)/check ./infra/deploy/settings/check && $(BIN)/check
	@$(AS_DEPLOYED) go build -buildvcs=false -o $(BIN)/deploy ./infra/deploy && $(BIN)/deploy

#? REGION= ARCH=
#? YES=1 asks nothing
#? PARAMETERS='Name=value …'
#? LOCAL=1 a rehearsal on this machine; KILLS=number of trials killed before
trial: ## deploys to AWS, tests what only AWS can show, and removes it all
	@mkdir -p $(BIN) && $(AS_DEPLOYED) go build -buildvcs=false -o $(BIN)/ ./infra/deploy && \
	$(IN_HARNESS) $(TO_BIN) ./trial && $(BIN)/trial

#? STACK= REGION=
#? YES=1 asks nothing
undeploy: ## deletes the stack, and lists the table and keys that stay
	@mkdir -p $(BIN) && $(AS_DEPLOYED) go build -buildvcs=false -o $(BIN)/deploy ./infra/deploy && $(BIN)/deploy undeploy

#? STACK= REGION=
check-consumers: ## lists authorizers of your account that can cache an answer
	@mkdir -p $(BIN) && $(AS_DEPLOYED) go build -buildvcs=false -o $(BIN)/deploy ./infra/deploy && $(BIN)/deploy check-consumers

##@ Work on it

# With the release of Go that go.mod names, so that everyone makes the same bytes.
#? VERSION=1.2.3
#? ARCH=arm64 or amd64
release: ## a zip that the SAM CLI deploys without Go, with checksums and SBOM
	@GOTOOLCHAIN=$$(sed -n "s/^toolchain //p" go.mod) $(AS_DEPLOYED) go run ./infra/deploy/release

#? ARCH=arm64 or amd64
build: ## compiles every function as deployed
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(or $(ARCH),arm64) GOFLAGS= go build -trimpath -tags=lambda.norpc -ldflags=-s -o .local/build/linux-$(or $(ARCH),arm64)/ ./functions/...

#? tables of documents, parts of infra/openapi.yaml and template.yaml, pkg/README.md,
#? infra/examples/vectors/webhooks.json, the console's files
generate: ## writes the generated files
	@UPDATE_GENERATED=1 go test -count=1 -vet=off -run '^TestMakeGenerateChangesNothing$$' ./infra/template ./infra/examples/vectors ./pkg ./pkg/store
	@UPDATE_GENERATED=1 go -C $(HARNESS) test -count=1 -vet=off -run '^TestMakeGenerateChangesNothing$$' ./contract ./e2e/bench
	@$(IN_HARNESS) run ./console/build

# Go accepts only a version v2 of a path that ends in /v2.
#? MODULE=github.com/acme/latchkey
home: ## gives the module the path of its owner's repository
	@$(if $(MODULE),,$(error MODULE is not given: the path of the repository, as github.com/acme/latchkey))
	@old=$$(go list -m) && go mod edit -module '$(MODULE)' && \
	go -C $(HARNESS) mod edit -dropreplace "$$old" -droprequire "$$old" -require '$(MODULE)@$(or $(filter v2 v3 v4 v5 v6 v7 v8 v9,$(notdir $(MODULE))),v0).0.0' -replace '$(MODULE)=../..' && \
	sed -E -i.bak 's#local-prefixes: \[.*#local-prefixes: [$(MODULE)]#' .golangci.yml && rm .golangci.yml.bak && \
	grep -rlE --exclude-dir=.git --exclude-dir=.local "$$old/(pkg|infra|functions)" . | \
	while read -r file; do sed -E -i.bak "s#(^|[^[:alnum:]_./-])$$old/(pkg|infra|functions)#\1$(MODULE)/\2#g" "$$file" && rm "$$file.bak"; done
