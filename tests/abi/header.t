#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# The interface's header compiles wherever it may be included, and says the
# same as the document.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Numbers qw(document header differences);

my $root = "$FindBin::Bin/../..";
my $header = "$root/include/uapi/linux/kvm_pvperf.h";
my $document = "$root/docs/abi.md";

my @strict = qw(-Wall -Wextra -Wpadded -Werror -fsyntax-only);
my @c = (qw(gcc -std=c11 -pedantic -x c), @strict);
my @cxx = (qw(g++ -std=c++11 -x c++), @strict);

for my $mode (qw(-m32 -m64)) {
	is(system(@c, $mode, Numbers::include_flags(), $header), 0,
	   "compiles as C with $mode, every offset as asserted, no padding");
	is(system(@cxx, $mode, Numbers::include_flags(), $header), 0,
	   "compiles as C++ with $mode");
}

my $stated = document($document);
cmp_ok(scalar(keys %$stated), '>=', 100, 'the document states numbers');

for my $mode (qw(-m32 -m64)) {
	my @differences = differences($stated, header($header, $mode));
	is(scalar(@differences), 0,
	   "the document's numbers are the header's with $mode, one for one")
		or diag(join "\n", @differences);
}

done_testing();
