# For working on the collection; `make` lists what there is. Needs make, Python 3.11 or later and, for the hosts, Docker.
SERVER ?= mysql
RELEASE ?=
TARBALL ?=
TARBALLS ?=
STEPS ?=
RESUME ?=
UPGRADE ?=
export TARBALL TARBALLS STEPS RESUME
REPLICAS ?= 1
RATE ?= 50
STORY ?= 1
LAB ?= docker
CLIENT ?=
PROXY ?=
HOST ?= source
DRAW ?=
PART ?=
COUNT ?=
SCENARIO ?= default
SCENARIOS ?= default mariadb wan wan-mariadb
ACTION ?= test
ANSIBLE ?= 12

SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The development tools on the PATH, installed when they are missing.
tools = SEMISYNC_ANSIBLE=$(ANSIBLE) && export SEMISYNC_ANSIBLE && . tests/tools/env.sh &&
# The lab needs no more than Python.
lab = python=$$(tests/tools/python) && "$$python" lab
# The link gives modules their full names.
typed = .config/collections/ansible_collections/dbre/semisync/plugins lab molecule proof \
	$(filter-out tests/output,$(patsubst %/,%,$(wildcard tests/*/)))
inventory = inventory/$(if $(filter uml,$(LAB)),lab-uml,lab)

.PHONY: help
help: ## this list
	@echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'
	@echo 'Variables: SERVER=mysql|mariadb RELEASE=sid|11|12|13 TARBALL=path REPLICAS=1..9 LAB=docker|uml CLIENT=1 (uml) PROXY=1 (docker) ANSIBLE=12|14 (cores: 10 to 14)'

# Delay is part of the procedure: where this kernel has none, hosts with a kernel of their own.
demo_lab = $(if $(filter command% environment%,$(origin LAB)),$(LAB),$$($$("tests/tools/python") lab choose))

tells = $(filter-out 0,$(STORY))

.PHONY: demo
demo: ## everything from nothing: hosts, the whole procedure with 90 ms, a switchover and a power cut under clients, the report; STORY=0: the procedure alone (SERVER, LAB)
	@kind=$(demo_lab); $(if $(tells),$(MAKE) lab-down LAB=$$kind &&) $(MAKE) lab-up LAB=$$kind $(if $(tells),REPLICAS=2) && \
	  $(MAKE) procedure LAB=$$kind $(if $(tells),PAIR=1 && $(MAKE) story LAB=$$kind)

.PHONY: procedure
procedure: ## the procedure from P0 to P8 on the test hosts, in its short form (LAB)
	@$(tools) ansible-playbook -i $(inventory) $(if $(PAIR),-i lab/spare.yml --limit source:replica1) \
	  playbooks/procedure.yml -e semisync_allow_disruption=true \
	  -e semisync_benchmark_profile=quick -e semisync_baseline_iterations=1

.PHONY: story
story: ## the end of make demo: a third host joins; 50 rows a second, switchover, power cut, failover, every row asked for (LAB, RATE)
	@$(tools) python tests/tools/story.py --kind $(LAB) --rate $(RATE)

.PHONY: lab-up
lab-up: ## test hosts: a source and its replicas, bare servers (SERVER, RELEASE or TARBALL, REPLICAS, LAB, CLIENT=1, PROXY=1)
	@$(lab) up --kind $(LAB) --server $(SERVER) $(if $(RELEASE),--release $(RELEASE)) \
	  $(if $(TARBALL),--tarball "$$TARBALL") --replicas $(REPLICAS) $(if $(CLIENT),--client) $(if $(PROXY),--proxy)

.PHONY: lab-down
lab-down: ## remove the test hosts; images stay (LAB)
	@$(lab) down --kind $(LAB)

.PHONY: lab-cut
lab-cut: ## stop a test host as a power cut would (HOST, LAB)
	@$(lab) cut --kind $(LAB) $(HOST)

.PHONY: lab-start
lab-start: ## start a test host that was cut (HOST, LAB)
	@$(lab) start --kind $(LAB) $(HOST)

.PHONY: lab-shell
lab-shell: ## a shell on a test host (HOST, LAB)
	@$(lab) shell --kind $(LAB) $(HOST)

.PHONY: venv
venv: ## install the development tools and print where they are
	@$(tools) echo "$$VIRTUAL_ENV"

.PHONY: shell
shell: ## a shell with the development tools on the PATH
	@$(tools) exec "$${SHELL:-sh}"

# Three steps at a time, the longest first, so that they end together. The scenarios on hosts of kind uml share a lab, so
# they are one step; the live tests are several, see tests/support/parts.py.
LANES ?= 3
live_parts = 1/2 2/2
uml_scenarios = $(filter wan%,$(SCENARIOS))
docker_scenarios = $(filter-out wan%,$(SCENARIOS))

.PHONY: test
test: ## lint, unit tests, sanity, every molecule scenario, live tests, site.yml killed after three tasks drawn at random
	@$(tools) python tests/tools/run_steps.py --lanes=$(LANES) \
	  $(if $(uml_scenarios),'molecule $(uml_scenarios)=molecule test $(addprefix --scenario-name ,$(uml_scenarios))' 'prove=$(MAKE) prove SHORT=1') \
	  $(foreach part,$(live_parts),'live $(part)=$(MAKE) live PART=$(part)') \
	  $(foreach name,$(docker_scenarios),'molecule $(name)=molecule test --scenario-name $(name)') \
	  'interrupted=$(MAKE) test-interrupted DRAW=3' 'sanity=$(MAKE) sanity' 'judge=$(MAKE) judge SHORT=1' 'protocol=$(MAKE) protocol SHORT=1' 'lint=$(MAKE) lint' 'unit=$(MAKE) unit' \
	  'report=$(MAKE) report' 'behaviours=$(MAKE) behaviours ONLY=mariadb' 'alerts=$(MAKE) alerts'

.PHONY: lint
lint: ## yamllint, ansible-lint's production profile, zizmor, ruff, mypy, defaults against argument specs and READMEs
	@$(tools) status=0; zizmor --quiet --offline --strict-collection .github || status=1; yamllint --strict . || status=1; ansible-lint || status=1; \
	  python tests/tools/check_roles.py || status=1; python tests/tools/role_tables.py --check || status=1; ruff check . || status=1; ruff format --check . || status=1; \
	  $(MAKE) types || status=1; exit $$status

.PHONY: generated
generated: ## write what pages have from tables in the code: findings, known-bad versions, premises, variables of roles
	@$(tools) PYTHONPATH=.config/collections python tests/tools/docs_tables.py
	@$(tools) python tests/tools/role_tables.py

.PHONY: types
types: ## mypy alone
	@$(tools) mypy $(typed)

.PHONY: unit
unit: ## unit tests: no hosts, no Docker
	@$(tools) python -m pytest --numprocesses 3 --dist worksteal

.PHONY: protocol
protocol: ## every way in which one thing dies between two statements of a change of roles, and what leads out; then with one thing left out; SHORT=1: a quarter of a minute of it
	@$(tools) PYTHONPATH=.config/collections:lab:tests python -m model.protocol_search $(if $(SHORT),--short) $(OPTIONS)
	@$(if $(SHORT),true,$(tools) PYTHONPATH=.config/collections:lab:tests python -m model.protocol_mutants)

.PHONY: sanity
sanity: ## ansible-test sanity, every test (ANSIBLE=14: with ansible-core 2.21)
	@$(tools) python tests/tools/sanity.py

.PHONY: molecule
molecule: ## a molecule scenario, as `molecule test` with the tools on the PATH (SCENARIO, ACTION=converge, verify, destroy, …)
	@$(tools) molecule $(ACTION) --scenario-name $(SCENARIO)

.PHONY: live
live: ## bad input, pairs that replicate already, a server that does not come up, benchmarks; on Docker hosts (LONG=1 for all, PART=1/2)
	@$(tools) python -m pytest --durations=8 $(if $(PART),--part=$(PART)) -m 'not own_target$(if $(LONG),, and not long)' tests/live

.PHONY: report
report: ## the report's page in a real Chromium, without a network; screenshots in tests/output/report
	@$(tools) python -m pytest tests/report

.PHONY: servers
servers: ## every server that can be had, from bare hosts to a verified pair; TARBALLS="path path": those, in every playbook (STEPS, RESUME=1)
	@$(tools) $(if $(TARBALLS),SEMISYNC_SERVERS_DOCUMENT=$$PWD/docs/evidence/servers.md python -m pytest -s tests/live/test_tarballs.py tests/live/test_names.py, \
	  python -m pytest tests/live/test_servers.py)

.PHONY: alerts
alerts: ## the Prometheus rules against their promtool cases
	@$(tools) promtool=$$(python tests/monitoring/packages.py) && cd monitoring && \
	  "$$promtool" check rules semisync.rules.yml && "$$promtool" test rules semisync.test.yml

.PHONY: monitoring
monitoring: lab-up ## alerts that fire and clear on a lab pair, with Debian's exporter and Prometheus; 10 minutes
	@$(tools) ansible-playbook -i $(inventory) site.yml
	@$(tools) python tests/monitoring/end_to_end.py --inventory $(inventory)

.PHONY: eda
eda: lab-up ## power cuts of a lab pair's source: Prometheus, Alertmanager, ansible-rulebook, and the plan; Java 17 (COUNT)
	@$(tools) python tests/monitoring/alert_to_plan.py --inventory $(inventory) $(if $(COUNT),--count $(COUNT))

.PHONY: salvaged
salvaged: ## what clients wrote, salvaged from a dead server's binary log to another one: all is equal, or refused (SERVER)
	@$(tools) python -m pytest -m long -k "$(SERVER)" tests/live/test_salvage_round_trip.py

.PHONY: behaviours
behaviours: ## what the servers themselves do: their own test suites' assertions, on live servers (ONLY, TARBALLS)
	@$(tools) python -m pytest tests/behaviours $(if $(ONLY),-k "$(ONLY)")

.PHONY: findings
findings: ## every finding and exit status of verify.yml, on pairs that are brought into that state (ONLY)
	@$(tools) python -m pytest tests/live/test_findings*.py $(if $(ONLY),-k "$(ONLY)")

.PHONY: test-interrupted
test-interrupted: ## site.yml killed after each of its tasks in turn, then run again (SERVER or TARBALL); hours. DRAW=3: three at random; MINUTES, RESUME=1
	@$(tools) python proof/interrupted.py --server $(SERVER) $(if $(TARBALL),--tarball "$$TARBALL") $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(RESUME),--resume) $(if $(DRAW),--draw $(DRAW),--document docs/evidence/interrupted.md)

.PHONY: test-more
test-more: ## online and back again under writers, several clusters and replicas; on Docker hosts; not part of make test
	@$(tools) python -m pytest tests/live/test_clusters.py tests/live/test_online.py

.PHONY: seed
seed: ## new replicas for a source with 1 GB that takes writes, interrupted too; the figures go to docs/evidence/seeding.md (ONLY)
	@$(tools) SEMISYNC_SEED_DOCUMENT=$$PWD/docs/evidence/seeding.md python -m pytest tests/live/test_seeding_large.py $(if $(ONLY),-k "$(ONLY)")

.PHONY: test-clusters
test-clusters: ## ten clusters in one inventory, one of them broken; on 20 Docker hosts
	@$(tools) SEMISYNC_TEST_CLUSTERS=10 python -m pytest tests/live/test_clusters.py -k "not acknowledgements"

.PHONY: stalls
stalls: ## how long 50 writers wait while a pair goes to semi-sync, online and by restart; the figures go to docs/evidence/stalls.md
	@$(tools) python proof/stalls.py --document docs/evidence/stalls.md

parts_of_it = $(if $(MINUTES),--minutes $(MINUTES)) $(if $(RESUME),--resume)

.PHONY: switchovers
switchovers: ## how long 50 writers wait while the source's role moves, and whether a row is lost; then kills (ONLY=figures, ONLY=kills, TARBALL, COUNT, PROXY=1, MINUTES, RESUME=1)
	@$(tools) $(if $(filter kills,$(ONLY)),true,python proof/switchovers.py $(if $(COUNT),--count $(COUNT)) \
	  $(if $(TARBALL),--tarball "$$TARBALL") $(if $(PROXY),--proxy) $(parts_of_it) --document docs/evidence/switchover.md)
	@$(tools) $(if $(filter figures,$(ONLY))$(TARBALL)$(PROXY),true,python proof/switchover_kills.py $(parts_of_it) \
	  --document docs/evidence/switchover.md)
	@$(tools) $(if $(filter figures,$(ONLY))$(TARBALL)$(PROXY),true,for server in mysql mariadb; do \
	  python proof/switchover_interrupted.py --server $$server $(parts_of_it) --document docs/evidence/interrupted.md || exit; done)

.PHONY: upgrades
upgrades: ## every server of a cluster upgraded or restarted under 50 writers behind HAProxy (WAY, TARBALLS, COUNT, KILLED=1, MINUTES)
	@$(tools) python proof/upgrades.py --document docs/evidence/upgrades.md $(if $(TARBALLS),--tarballs $(TARBALLS)) \
	  $(foreach way,$(or $(WAY),$(if $(TARBALLS),tarballs,10.5-10.11 10.11-11.8 restart-mysql restart-mariadb)),--way $(way)) \
	  $(if $(COUNT),--count $(COUNT)) $(if $(KILLED),--killed) $(if $(MINUTES),--minutes $(MINUTES))

.PHONY: full-disks
full-disks: ## a disk that gets full while 50 clients write, in a switchover, and in a failover (PLACE=source|acknowledger|candidate|results, MOMENT, SERVER, COUNT, MINUTES)
	@$(tools) python proof/full_disks.py --document docs/evidence/full-disks.md $(foreach server,$(SERVER),--server $(server)) \
	  $(foreach place,$(PLACE),--place $(place)) $(foreach moment,$(MOMENT),--moment $(moment)) \
	  $(if $(COUNT),--count $(COUNT)) $(if $(MINUTES),--minutes $(MINUTES))

.PHONY: routers
routers: ## how long 50 writers that know only a router's address wait: switchovers, a killed host and its return (ROUTER=HAProxy|keepalived, SERVER, COUNT, MINUTES)
	@$(tools) python proof/routers.py $(if $(ROUTER),--router $(ROUTER)) \
	  $(if $(filter command% environment%,$(origin SERVER)),--server $(SERVER)) \
	  $(if $(COUNT),--count $(COUNT)) $(if $(MINUTES),--minutes $(MINUTES))

.PHONY: advised
advised: ## what advise.yml predicts against what benchmark.yml then measures, in 32 cells, on hosts of kind uml with netem (SERVER)
	@$(MAKE) lab-up LAB=uml CLIENT=1
	@$(tools) python proof/advised.py --inventory inventory/lab-uml/hosts.yml --document docs/evidence/advise.md
	@$(MAKE) lab-down LAB=uml

.PHONY: rejoins
rejoins: ## rejoin.yml killed after each of its tasks, on each way of a server; an hour each (SERVER, WAY, RELEASE, MINUTES, RESUME=1)
	@$(tools) python proof/rejoin_interrupted.py --server $(SERVER) $(if $(RELEASE),--release $(RELEASE)) \
	  $(if $(WAY),--way $(WAY)) $(parts_of_it) --document docs/evidence/interrupted.md

.PHONY: judge
judge: ## every history of a small world, judged by the real code: no verdict may be false; the tables go to docs/evidence/judge.md; SHORT=1: two minutes of it; LONG=1: histories of 50 events, too
	@$(tools) python tests/model/judge.py $(if $(SHORT),--short,--document docs/evidence/judge.md --replays tests/model/replays.json)
	@$(if $(LONG),$(tools) python -m pytest -q tests/model,true)

.PHONY: prove
prove: ## power cuts of the source under 50 writers and 25 readers, failover.yml, rows, reads and certificate judged; mutants (SERVER, TARBALL, FAULT, CYCLES, MINUTES, CLEAR=1); USUAL=1: with a heartbeat and the default timeout; SHORT=1: two cuts and two mistakes
	@$(tools) for server in $(if $(filter command% environment%,$(origin SERVER)),$(SERVER),$(if $(SHORT),,mysql) mariadb); do \
	  python proof/prove.py --server $$server $(if $(TARBALL),--tarball $(TARBALL)) $(if $(SHORT),--short) \
	  $(if $(FAULT),--case $(FAULT)) $(if $(USUAL),--usual) $(if $(CYCLES),--cycles $(CYCLES)) \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(if $(CLEAR),--clear) || exit; done

.PHONY: crash-points
crash-points: ## a minute of 50 writers, and each disk that a power cut could have left: has it each confirmed row? Settings that lose, too (SERVER, CASE, POINTS, MINUTES, AGAIN=1, CLEAR=1); SHORT=1: a few disks
	@$(tools) for server in $(if $(filter command% environment%,$(origin SERVER)),$(SERVER),mysql mariadb); do \
	  python proof/crash_points.py --server $$server $(if $(SHORT),--short) $(if $(CASE),--case $(CASE)) \
	  $(if $(POINTS),--points $(POINTS)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(AGAIN),--again) \
	  $(if $(CLEAR),--clear) || exit; done

.PHONY: replays
replays: ## the shortest histories that a mistaken judge gets wrong, on real hosts (SERVER, MINUTES, ONLY, AGAIN=1)
	@$(tools) for server in $(if $(filter command% environment%,$(origin SERVER)),$(SERVER),mysql mariadb); do \
	  python proof/replays.py --server $$server $(if $(ONLY),--only $(ONLY)) \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(if $(AGAIN),--again) || exit; done

.PHONY: bench
bench: ## what a run without changes costs, against the floor; the benchmark's mysqlslap against the bare command
	@$(tools) python proof/no_op.py --inventory $(inventory)
	@$(MAKE) fidelity

.PHONY: bench-scale
bench-scale: ## the same with 1, 5 and 20 replicas and clusters, on hosts of its own; half an hour, 8 GB of memory
	@$(tools) python proof/scale.py --write

# Tools of the two targets below, in an environment of their own.
publishing = python=$$(tests/tools/python) && venv=$$("$$python" tests/tools/venv.py docs/docsite/requirements.txt) && \
	PATH=$$venv/bin:$$PATH && ANSIBLE_COLLECTIONS_PATH=$$PWD/.config/collections && export PATH ANSIBLE_COLLECTIONS_PATH &&

.PHONY: docs
docs: ## docs/ and the modules as a static site, in dist/docs
	@$(publishing) python tests/tools/docs.py

.PHONY: galaxy
galaxy: ## what Galaxy checks: build, importer, installation into an empty place, changelog, execution environment
	@$(publishing) python tests/tools/galaxy.py

.PHONY: cores
cores: ## the built collection and the unit tests of its actions with another ansible-core (ANSIBLE=10 to 14: 2.17 to 2.21); where a lab (docker) is set up, verify.yml and site.yml on it
	@$(tools) python -m pytest -q tests/unit/plugins/action tests/unit/test_playbooks.py
	@$(tools) PYTHONPATH=tests python tests/tools/cores.py $(if $(wildcard $(inventory)/hosts.yml),--inventory $(inventory))

.PHONY: archive
archive: ## the built archive in an empty place: every playbook of it on a new source and two replicas of kind uml (SERVER, RELEASE or TARBALL)
	@$(MAKE) lab-up LAB=uml REPLICAS=2
	@$(tools) PYTHONPATH=tests python tests/tools/archive.py --inventory inventory/lab-uml/hosts.yml --document docs/evidence/archive.md
	@$(MAKE) lab-down LAB=uml

.PHONY: certified
certified: ## the checklist for Ansible's community package, line by line: passed, failed, or not judged here
	@$(publishing) PYTHONPATH=tests python tests/tools/certified.py

.PHONY: ee
ee: ## an execution environment, built by ansible-builder; verify.yml runs in it where a lab (docker) is set up
	@$(publishing) python tests/tools/ee.py

.PHONY: sbom
sbom: ## what is in the execution environment that make ee has built, as CycloneDX, in dist/
	@$(publishing) python tests/tools/sbom.py dist/execution-environment.cdx.json

# The versions stay as they are unless UPGRADE=1. Only the header says how, and Dependabot reads it there.
.PHONY: requirements
requirements: ## every requirement with its hashes, after a change of a requirements file that ends in .in (UPGRADE=1)
	@$(publishing) for one in requirements-dev:3.11 requirements-ansible-10:3.11 requirements-ansible-11:3.11 \
	  requirements-ansible-13:3.12 requirements-ansible-14:3.12 docs/docsite/requirements:3.11 tests/monitoring/rulebook:3.11; do \
	  file=$${one%:*} && uv pip compile --quiet --universal --generate-hashes --python-version $${one#*:} \
	    --no-emit-index-url --no-annotate $(if $(UPGRADE),--upgrade) -o $$file.txt $$file.in || exit; done

.PHONY: fidelity
fidelity: ## the benchmark's mysqlslap against the bare command, in turn, on a pair that is set up (LAB)
	@$(tools) python proof/mysqlslap_fidelity.py --inventory $(inventory)

.PHONY: build
build: ## the collection as ansible-galaxy would publish it, in dist/
	@$(tools) ansible-galaxy collection build --force --output-path dist

.PHONY: clean
clean: ## remove what runs left in the checkout; test hosts, images and tools stay
	@rm -rf .ansible .cache .mypy_cache .pytest_cache .ruff_cache dist tests/output
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
