# SPDX-License-Identifier: GPL-2.0
# For people; kbuild itself reads Kbuild.  "make help" lists the targets.

# The running kernel's headers, or else the newest that are installed: a
# machine that only builds and tests need not run the kernel it builds for.
# Deferred, since "make test" installs headers before it uses them.
KERNEL_RELEASE ?= $(shell for release in "$$(uname -r)" \
	$$(ls /lib/modules | grep -e '-amd64$$' | sort -rV); do \
		test -f "/lib/modules/$$release/build/Makefile" || continue; \
		echo "$$release"; break; done)
KDIR ?= /lib/modules/$(KERNEL_RELEASE)/build

# What the tests load must fit the kernel that their machines run.
demo test check test-faults test-modules: KERNEL_RELEASE = $(shell tests/vm/kernel-release)

# Which modules: host, guest or both.
MODULES ?= both
ifeq ($(filter host guest both,$(MODULES)),)
$(error MODULES=$(MODULES): not one of host, guest and both)
endif

# Where "make install" puts things, below DESTDIR.
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
INSTALL_MOD_PATH ?= $(DESTDIR)

JOBS ?= 2
TESTS ?= $(sort $(wildcard tests/abi/*.t tests/host/*.t tests/guest/*.t \
	tests/install/*.t tests/vm/*.t))

kbuild = $(MAKE) --no-print-directory -C $(KDIR) M=$(CURDIR)
sides = $(if $(filter both,$(MODULES)),host guest,$(MODULES))
places = DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) SYSCONFDIR=$(SYSCONFDIR)

# The steps of a target depend on what the ones before it have installed.
.NOTPARALLEL:

.PHONY: all modules tools test-modules test-programs test-packages test-images
.PHONY: demo test check test-faults clean help
.PHONY: install uninstall dkms-install dkms-uninstall deb

all: modules ## build both modules (the default)

modules: ## build MODULES=host, guest or both for KERNEL_RELEASE=, or for the headers in KDIR=
	@test -f $(KDIR)/Makefile || { \
		echo "No kernel headers in $(KDIR): install linux-headers-amd64, or say KDIR=" >&2; \
		exit 1; }
	$(kbuild) KVM_PVPERF_MODULES=$(MODULES) modules

install: modules tools ## install MODULES= and what belongs to them, below DESTDIR=, PREFIX=
	$(kbuild) KVM_PVPERF_MODULES=$(MODULES) INSTALL_MOD_PATH=$(INSTALL_MOD_PATH) modules_install
	$(places) packaging/install-files install common $(sides)

uninstall: ## remove what "make install" has installed for that kernel
	$(places) packaging/install-files uninstall common $(sides)
	packaging/remove-modules "$(INSTALL_MOD_PATH)" \
		"$$(sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
			$(KDIR)/include/generated/utsrelease.h)" $(sides)

dkms-install: ## have DKMS build MODULES= for this and every later kernel
	$(places) packaging/dkms install $(MODULES) $(KERNEL_RELEASE)

dkms-uninstall: ## remove all that "make dkms-install" has installed
	$(places) packaging/dkms uninstall $(MODULES)

deb: ## build the Debian packages into dist/
	packaging/build-deb dist

demo: ## show perf in a guest before and after, on a machine without KVM (as root)
	tests/demo/run

test: test-packages test-images test-modules test-programs ## run the tests, or those in TESTS= (as root)
	tests/run $(JOBS) $(TESTS)

check: test-packages ## what needs no virtual machine: warnings, sparse, style, house rules
	tests/check/run

test-faults: test-packages test-images ## break the product on purpose, or as FAULTS= says: tests must notice
	tests/faults/run $(FAULTS)

test-modules: ## build both modules and those that only the tests load
	$(kbuild) KVM_PVPERF_TESTS=y modules

tools: ## build what operators run
	$(MAKE) -C tools

test-programs: tools ## build the programs that run inside the tests' machines
	$(MAKE) -C tests/programs

test-packages:
	tests/vm/install-packages.sh

test-images: test-packages
	tests/vm/build-images.sh

clean: ## remove everything that was built in this tree
	$(kbuild) KVM_PVPERF_TESTS=y clean
	$(MAKE) -C tests/programs clean
	$(MAKE) -C tools clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
