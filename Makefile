# stepcast. `make demo` installs what is missing, builds, and shows a forecast;
# `make test` runs every test. `make help` lists the rest.

CC      ?= cc
BUILD   ?= build
# make V=1 shows the commands
Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))
# on all cores, unless -j says otherwise
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
PREFIX  ?= /usr/local
OPT     ?= -O2
# what a table does not say of an option is 0
WARN    := -Wall -Wextra -Wshadow -Wconversion -Werror -Wno-missing-field-initializers
CPPFLAGS += -Iinclude -Ilib -I$(BUILD)/gen -Itests/unit
CFLAGS  += -std=c17 -g $(OPT) $(WARN) -fPIC -fvisibility=hidden -fno-math-errno
LDLIBS  += -ljansson -lyaml -lsqlite3 -lz -lm -lpthread
# No path of this machine in what is built: the same sources give the same bytes.
CFLAGS  += -ffile-prefix-map=$(CURDIR)=.

# What a program that reads files of others should have (SECURITY.md); it costs
# less than 2 % of the instructions. HARDEN= builds without.
ifeq ($(shell uname -s)$(SAN),Linux)
HARDEN     ?= -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
HARDEN_LD  ?= -Wl,-z,relro,-z,now,-z,noexecstack
HARDEN_PIE ?= -pie
CFLAGS  += $(if $(filter -O0,$(OPT)),,$(HARDEN))
LDFLAGS += $(HARDEN_LD)
endif

# make SAN=address,undefined test: the same, in a build folder of its own
ifdef SAN
BUILD   := build/san$(if $(filter thread,$(SAN)),-thread)$(if $(LIBFUZZER),-fuzzer)
CFLAGS  += -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
# every sharing of links is proved to be max-min (lib/network/flow/flow_certificate.c)
CPPFLAGS += -DSC_CHECK
LDFLAGS += -fsanitize=$(SAN)
# Checks of every pointer are comparisons that libFuzzer records one by one: without them
# a forecast takes half as long. make fuzz-smoke has them.
ifdef LIBFUZZER
CFLAGS  += -fsanitize=fuzzer-no-link -fno-sanitize=null,alignment,pointer-overflow
endif
endif

# Sweeps under mpirun: where Open MPI's headers are. It is loaded at run time, not
# linked; MPI_CFLAGS= builds without.
MPI_CFLAGS ?= $(shell pkg-config --cflags ompi-c 2>/dev/null)
$(BUILD)/lib/base/platform_mpi.o: CPPFLAGS += $(if $(MPI_CFLAGS),-DSC_OPEN_MPI -D_GNU_SOURCE $(addprefix -isystem ,$(patsubst -I%,%,$(MPI_CFLAGS))))

VERSION := $(shell sed -n 's/.*SC_VERSION "\(.*\)"/\1/p' include/stepcast/stepcast.h)
LIB_C   := $(sort $(wildcard lib/*/*.c lib/*/*/*.c))
CMD_C   := $(sort $(wildcard cli/*.c))
TEST_C  := $(sort $(wildcard tests/unit/*_test.c))
FUZZ_C  := $(sort $(wildcard tests/fuzz/*_fuzz.c))
BENCH_C := $(sort $(wildcard bench/*_bench.c))
DATA    := $(sort $(shell find data -type f -not -path 'data/truth/*' 2>/dev/null))

SOURCES := $(sort $(shell find lib include -name '*.[ch]'))

WEB     := $(sort $(wildcard web/src/*) web/build.mjs web/package.json web/package-lock.json)

LIB_O   := $(LIB_C:%.c=$(BUILD)/%.o) $(BUILD)/gen/data.o $(BUILD)/gen/report_page.o $(BUILD)/gen/sources.o
TESTS   := $(TEST_C:%.c=$(BUILD)/%)
FUZZERS := $(FUZZ_C:%.c=$(BUILD)/%)
BENCHES := $(BENCH_C:%.c=$(BUILD)/%)
EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard examples/*.c)))

STATIC  := $(BUILD)/libstepcast.a
SHARED  := $(BUILD)/libstepcast.so.$(VERSION)
PROGRAM := $(BUILD)/stepcast

# the Python package as files, for PYTHONPATH
PYTHON_SOURCES := $(wildcard bindings/python/*.py bindings/python/stepcast/*.py bindings/python/stepcast/*/*.py)
PYTHON_PACKAGE := $(BUILD)/python/stepcast/_header.py

.PHONY: all static deb release uninstall python wheel deps deps-test demo test validate bench install clean help format check-format check-layers check-lines check-wasm check-threads check-packet check-tests picture relations mutate fuzz fuzz-targets fuzz-smoke check-reproducible sbom
.DEFAULT_GOAL := all
.SECONDARY:

all: deps $(PROGRAM) $(SHARED)

# Installs missing Debian packages; quick when there is nothing to do.
deps:
	@sh scripts/deps.sh

# one installation at a time
deps-test: deps
	@sh scripts/deps.sh test

help:
	@sed -n 's/^\([a-z-]*\):.*## *\(.*\)/  make \1\t\2/p' Makefile

$(LIB_O) $(CMD_C:%.c=$(BUILD)/%.o) $(BUILD)/tools/embed: | deps
$(FUZZ_C:%.c=$(BUILD)/%.o) $(BENCH_C:%.c=$(BUILD)/%.o): | deps
$(TEST_C:%.c=$(BUILD)/%.o): | deps-test

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# The library is plain C17 but for lib/base/platform_posix.c; programs are not.
$(BUILD)/cli/%.o $(BUILD)/tests/%.o $(BUILD)/bench/%.o: CPPFLAGS += -D_GNU_SOURCE

$(BUILD)/gen/data.c: $(BUILD)/tools/embed $(DATA)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/tools/embed sc__data_file data $(DATA) > $@.tmp && mv $@.tmp $@

# A checksum of what the library is made of: two builds of one version need not agree.
$(BUILD)/gen/sources.c: $(SOURCES)
	@mkdir -p $(@D)
	$(Q)cat $(SOURCES) | cksum | sed 's/\([0-9]*\) \([0-9]*\).*/#include "base\/data.h"\nconst char sc__sources_checksum[] = "\1-\2";/' > $@.tmp && mv $@.tmp $@

# The report page; empty where node or npm is missing.
# A build that could not fetch the page's packages leaves it empty: try again.
# (What was made of it goes too: a missing file in between alone is no reason to build.)
$(shell find $(BUILD)/web/report.html -empty -exec rm -f {} $(BUILD)/gen/report_page.c ';' 2>/dev/null)

$(BUILD)/web/report.html: $(WEB) scripts/web.sh | deps
	@sh scripts/web.sh $@

$(BUILD)/gen/report_page.c: $(BUILD)/tools/embed $(BUILD)/web/report.html
	@mkdir -p $(@D)
	$(Q)$(BUILD)/tools/embed sc__page_file $(BUILD)/web $$(test -s $(BUILD)/web/report.html && echo $(BUILD)/web/report.html) > $@.tmp && mv $@.tmp $@

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BUILD)/tools/embed: tools/embed.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -O1 $< -o $@

$(STATIC): $(LIB_O)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)ar rcsD $@ $^

$(SHARED): $(LIB_O)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libstepcast.so.0 $(LDFLAGS) $^ $(LDLIBS) -o $@
	@ln -sf $(@F) $(BUILD)/libstepcast.so.0
	@ln -sf $(@F) $(BUILD)/libstepcast.so

$(PROGRAM): $(CMD_C:%.c=$(BUILD)/%.o) $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) $(HARDEN_PIE) $(LDFLAGS) $^ $(LDLIBS) -o $@

# Compiling and linking them takes as long as running them: little is optimized, and the
# library's lines stay out of it. For a debugger: make TEST_OPT=-Og TEST_LDFLAGS= …
TEST_OPT     ?= -O1
TEST_LDFLAGS ?= $(if $(SAN),,-Wl,--strip-debug)
$(TEST_C:%.c=$(BUILD)/%.o): OPT := $(TEST_OPT)
$(BUILD)/tests/unit/%_test: $(BUILD)/tests/unit/%_test.o $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(TEST_LDFLAGS) $^ $(LDLIBS) -lcmocka -o $@

$(BUILD)/bench/%_bench: $(BUILD)/bench/%_bench.o $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

# As a program of somebody else: the public headers and the library.
$(BUILD)/examples/%: examples/%.c $(STATIC)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -Iinclude -std=c17 -O2 -Wall -Wextra -Werror $(LDFLAGS) $^ $(LDLIBS) -o $@

# A driver of ours mutates the corpus, so that the smoke test needs nothing more
# than a compiler; `make fuzz` has libFuzzer of clang, which sees what is reached.
FUZZ_DRIVER := $(if $(LIBFUZZER),,$(BUILD)/tests/fuzz/driver.o)
$(BUILD)/tests/fuzz/%_fuzz: $(BUILD)/tests/fuzz/%_fuzz.o $(FUZZ_DRIVER) $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(if $(LIBFUZZER),-fsanitize=fuzzer) $^ $(LDLIBS) -o $@

$(PYTHON_PACKAGE): $(PYTHON_SOURCES) include/stepcast/stepcast.h
	$(call say,PYTHON,$(@D))
	$(Q)python3 -B bindings/python/backend.py stage $(BUILD)/python

python: all $(PYTHON_PACKAGE) ## the Python package, for PYTHONPATH=build/python

wheel: all ## the Python package with the library, for pip, in build/wheel
	$(Q)STEPCAST_LIBRARY=$(SHARED) python3 -B bindings/python/backend.py wheel $(BUILD)/wheel

demo: all ## simulate the built-in example and say where the pictures are
	@sh scripts/demo.sh $(PROGRAM)

test: all deps-test python $(TESTS) $(EXAMPLES) ## every test; TEST="unit/kernel cli/spine": these
	@python3 -B scripts/test.py $(BUILD) $(TEST)

check-tests: all python $(EXAMPLES) ## no command-line test passes with a program that does nothing
	@python3 -B scripts/test.py --idle $(BUILD) $(TEST)

mutate: ## would a test notice wrong code? MINUTES (60) of tests/mutants.txt, goes on where it stopped
	@python3 -B scripts/mutate.py --minutes $${MINUTES:-60}

picture: all ## docs/pictures/page.png, as README.md shows it; after `make test TEST=page/page`, with the same packages
	@PATH="$(CURDIR)/$(BUILD):$$PATH"; cd $(BUILD) && \
	    stepcast run --model llama3-70b --cluster dgx-h100:64 --tp 8 --pp 8 --gbs 64 --seq 4096 --zero 1 --html step.html >/dev/null
	@node tests/page/picture.mjs $(CURDIR)/$(BUILD)/step.html docs/pictures/page.png $$(command -v chromium)

relations: all python ## random plans and what must hold for each: PLANS (2000), SEED (1)
	@python3 -B tests/relations/relations.py $(BUILD) $${SEED:-1} $${PLANS:-2000}

fuzz-smoke: deps $(FUZZERS) ## FUZZ_SECONDS (default 5) per reader
	@sh scripts/fuzz.sh $(BUILD) $${FUZZ_SECONDS:-5}

# The time of each target adds up in tests/fuzz/ledger.json; what was found stays until it is mended.
fuzz: ## libFuzzer under sanitizers (clang) for MINUTES (10), the target with the least time first: an hour each in the end
	@$(MAKE) CC="$(FUZZ_CC)" LIBFUZZER=1 SAN=address,undefined fuzz-targets
	@python3 -B scripts/fuzz_slices.py build/san-fuzzer --minutes $${MINUTES:-10} $(if $(ONLY),--only $(ONLY))
fuzz-targets: deps $(FUZZERS)
FUZZ_CC ?= clang

bench: all $(BENCHES) ## benchmarks, with ratios; BENCH_FULL=1: the long ones too
	@sh scripts/bench.sh $(BUILD)

validate: all ## how well measurements are predicted, with tables
	@sh scripts/validate.sh $(PROGRAM)

check-threads: ## eight threads on one model and cluster, under the thread sanitizer
	$(MAKE) SAN=thread build/san-thread/tests/unit/api_test
	TSAN_OPTIONS=halt_on_error=1 build/san-thread/tests/unit/api_test

# STEPCAST_SHARED holds recorded runs of ns-3 and an independent simulator.
STEPCAST_SHARED ?= ../shared
check-packet: all ## packets against ns-3's recorded runs, random scenarios and Ultra Ethernet's published runs
	@if [ -d $(STEPCAST_SHARED)/truth/packet_oracle ]; then \
	    python3 -B tests/tools/check_packet.py $(PROGRAM) $$(dirname $(STEPCAST_SHARED)/truth/packet_oracle/*/fct.txt) && \
	    python3 -B tests/tools/check_rng.py $(PROGRAM) $(STEPCAST_SHARED)/truth/packet_oracle --seeds 10 && \
	    python3 -B tests/tools/packet_random.py $(PROGRAM) $(STEPCAST_SHARED)/reference 300 && \
	    python3 -B tests/tools/packet_controls.py $(PROGRAM) $(STEPCAST_SHARED)/reference 300 && \
	    python3 -B tests/tools/check_uet.py $(PROGRAM) --all; \
	else echo "check-packet: skipped, there is no $(STEPCAST_SHARED)/truth/packet_oracle"; fi

check-layers:
	@sh scripts/layers.sh

check-lines: ## lines that breathe, files of at most 800
	@python3 scripts/line_density.py --check

# Without root and without the packages it says that it is skipped.
check-wasm: $(BUILD)/gen/data.c $(BUILD)/gen/report_page.c $(BUILD)/gen/sources.c ## the library for wasm32, but for its platform file
	@sh scripts/deps.sh wasm || true
	@WARN="$(WARN)" sh scripts/wasm.sh $(BUILD)

# Releases of clang-format differ in taste; the tree is in that of 14.
check-format: deps
	@sh scripts/deps.sh format
	@if clang-format --version | grep -q 'version 14\.'; then clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h'); \
	else echo "check-format: skipped, $$(clang-format --version) is not 14"; fi

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

# One file without libraries of its own, for any Linux of this processor.
$(BUILD)/stepcast-static: $(CMD_C:%.c=$(BUILD)/%.o) $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) -static $(filter-out -pie,$(LDFLAGS)) $^ $(LDLIBS) -o $@.tmp
	$(Q)strip $@.tmp && mv $@.tmp $@

static: $(BUILD)/stepcast-static ## one file that runs on any Linux of this processor

deb: all ## a Debian package, in build/release
	@sh scripts/deb.sh $(PROGRAM) $(BUILD)/release

release: all ## static program, Debian package, wheel, sources and their checksums, in build/release
	@sh scripts/release.sh $(BUILD) $(VERSION)

uninstall: ## what install put into PREFIX (and DESTDIR)
	rm -f $(DESTDIR)$(PREFIX)/bin/stepcast $(DESTDIR)$(PREFIX)/lib/libstepcast.*
	rm -f $(DESTDIR)$(PREFIX)/lib/pkgconfig/stepcast.pc
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/stepcast.1 $(DESTDIR)$(PREFIX)/share/man/man1/stepcast-*.1
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/stepcast
	rm -f $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_stepcast
	rm -f $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/stepcast.fish
	rm -rf $(DESTDIR)$(PREFIX)/include/stepcast $(DESTDIR)$(PREFIX)/share/stepcast

install: all ## into PREFIX (and DESTDIR)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/stepcast
	install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(STATIC) $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(SHARED) $(DESTDIR)$(PREFIX)/lib/
	ln -sf $(notdir $(SHARED)) $(DESTDIR)$(PREFIX)/lib/libstepcast.so.0
	ln -sf $(notdir $(SHARED)) $(DESTDIR)$(PREFIX)/lib/libstepcast.so
	install -m 644 include/stepcast/*.h $(DESTDIR)$(PREFIX)/include/stepcast/
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' scripts/stepcast.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/stepcast.pc
	sh scripts/install-docs.sh $(PROGRAM) $(DESTDIR)$(PREFIX)

check-reproducible: ## built twice, in two folders: the same bytes
	@sh scripts/reproducible.sh

sbom: all ## what is in the program and what it is linked with, as SPDX, in build/stepcast.spdx.json
	@python3 -B scripts/sbom.py $(PROGRAM) $(BUILD)/stepcast.spdx.json

clean:
	rm -rf build out

-include $(LIB_C:%.c=$(BUILD)/%.d) $(CMD_C:%.c=$(BUILD)/%.d) $(TEST_C:%.c=$(BUILD)/%.d) $(FUZZ_C:%.c=$(BUILD)/%.d) $(BENCH_C:%.c=$(BUILD)/%.d)
