# Every target takes PORT=, so that two stacks run side by side.
PORT ?= 3000
EMAIL ?=
NAME ?=
SUB ?=
KIND ?= user
ARCH ?= arm64

# Recipes read these from the environment, so that a quote in a name is only a quote.
export EMAIL NAME SUB KIND

CTL = go run ./infra/local/ctl -port $(PORT)

.DEFAULT_GOAL := help
.PHONY: help run token stop-db start-db pause-db resume-db clean-data build

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: ## the whole product on this machine, at http://127.0.0.1:3000 (PORT=)
	@mkdir -p .local/bin && go build -o .local/bin/run ./infra/local/run
	@exec .local/bin/run -port $(PORT) # not "go run", which passes no SIGTERM on

token: ## an access token of the local issuer: EMAIL= NAME= [KIND=unverified|service|idtoken|userinfo] [SUB=]
	@$(CTL) -kind "$$KIND" -email "$$EMAIL" -name "$$NAME" -sub "$$SUB" token

stop-db: ## takes the running stack's database away
	@$(CTL) stop-db

start-db: ## brings it back, with everything it had
	@$(CTL) start-db

pause-db: ## makes it hang: it takes connections and answers nothing
	@$(CTL) pause-db

resume-db: ## ends pause-db
	@$(CTL) resume-db

clean-data: ## forgets the table's data of the stack on PORT
	@$(CTL) clean-data

build: ## compiles every function as deployed (ARCH=arm64 or amd64)
	@$(CTL) -arch $(ARCH) build
