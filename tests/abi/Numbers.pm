# SPDX-License-Identifier: GPL-2.0
# The numbers of the guest/host interface, as the document states them and as
# a compiler takes them from the header.
#
# Both sides become a flat table.  Its keys are
#	NAME			value of a constant
#	sizeof struct X		size of a structure
#	X.field offset/size	place of a field
package Numbers;

use strict;
use warnings;
use Exporter 'import';
use File::Temp 'tempdir';

our @EXPORT_OK = qw(document header differences);

my $prefix = qr/KVM_PVPERF_/;

sub slurp {
	my ($path) = @_;
	open my $file, '<', $path or die "$path: $!\n";
	local $/;
	return scalar <$file>;
}

# The document's tables: constants anywhere, fields below the heading that
# names their structure.
sub document {
	my ($path) = @_;
	my (%numbers, $structure);

	for (split /\n/, slurp($path)) {
		if (/^#/) {
			undef $structure;
			if (/^### `struct (\w+)`, (\d+) bytes$/) {
				$structure = $1;
				add(\%numbers, "sizeof struct $1", $2);
			}
		} elsif (/^\s*\| `($prefix\w+)` \| ([^|]+?) \|/) {
			add(\%numbers, $1, number($2, $1));
		} elsif (defined $structure &&
			 /^\| (\d+) \| (\d+) \| `(\w+)` \|/) {
			add(\%numbers, "$structure.$3 offset", $1);
			add(\%numbers, "$structure.$3 size", $2);
		}
	}
	return \%numbers;
}

sub number {
	my ($text, $name) = @_;
	return $text + 0 if $text =~ /^\d+$/;
	return hex $text if $text =~ /^0x[0-9a-f]+$/;
	die "$name: \"$text\" is not a number\n";
}

sub add {
	my ($numbers, $key, $value) = @_;
	die "$key is stated twice\n" if exists $numbers->{$key};
	$numbers->{$key} = $value;
}

# What the header defines, by its text: the compiler can say what a name is
# worth, but not which names there are.
sub header_names {
	my ($path) = @_;
	my $text = slurp($path);
	my (@constants, %fields);

	$text =~ s{/\*.*?\*/}{}gs;
	while ($text =~ /^#define\s+($prefix\w+)(?=\s+\S)/gm) {
		push @constants, $1;
	}
	while ($text =~ /^enum\s+\w+\s*\{(.*?)^\};/gms) {
		push @constants, $1 =~ /($prefix\w+)/g;
	}
	while ($text =~ /^struct\s+(\w+)\s*\{(.*?)^\};/gms) {
		my ($structure, $body) = ($1, $2);
		$fields{$structure} = [$body =~ /(\w+)(?:\[\w+\])?;/g];
	}
	return (\@constants, \%fields);
}

# The values, by the compiler in the mode that the flags select.  Nothing is
# run: 32-bit programs need not be runnable on the machine.
sub header {
	my ($path, @flags) = @_;
	my ($constants, $fields) = header_names($path);
	my @expressions = map { [$_, $_] } @$constants;

	for my $structure (sort keys %$fields) {
		push @expressions, ["sizeof struct $structure",
				    "sizeof(struct $structure)"];
		push @expressions,
			["$structure.$_ offset",
			 "__builtin_offsetof(struct $structure, $_)"],
			["$structure.$_ size",
			 "sizeof(((struct $structure *)0)->$_)"]
			for @{$fields->{$structure}};
	}
	return compiled($path, \@expressions, @flags);
}

sub compiled {
	my ($path, $expressions, @flags) = @_;
	my $directory = tempdir(CLEANUP => 1);
	my $include = $path =~ m{^/} ? $path : "$ENV{PWD}/$path";
	my %numbers;

	open my $source, '>', "$directory/numbers.c" or die "numbers.c: $!\n";
	print $source "#include \"$include\"\nvoid numbers(void)\n{\n";
	print $source "asm volatile(\"\\n->$_->[0] = %c0\" : : " .
		"\"i\"((long long)($_->[1])));\n" for @$expressions;
	print $source "}\n";
	close $source or die "numbers.c: $!\n";

	system('gcc', @flags, include_flags(), '-S', '-o',
	       "$directory/numbers.s", "$directory/numbers.c") == 0
		or die "the header does not compile with @flags\n";

	for (split /\n/, slurp("$directory/numbers.s")) {
		add(\%numbers, $1, $2) if /^->(.*) = (-?\d+)$/;
	}
	return \%numbers;
}

# With -m32 gcc looks for <asm/types.h> in a directory that only multilib
# packages fill; x86's user headers are the same for both.
sub include_flags {
	chomp(my $multiarch = qx(gcc -print-multiarch));
	return ('-idirafter', "/usr/include/$multiarch");
}

# In words, or an empty list.
sub differences {
	my ($document, $header) = @_;
	my %keys = (%$document, %$header);
	my @found;

	for my $key (sort keys %keys) {
		if (!exists $document->{$key}) {
			push @found, "$key: not in the document";
		} elsif (!exists $header->{$key}) {
			push @found, "$key: not in the header";
		} elsif ($document->{$key} != $header->{$key}) {
			push @found, "$key: $document->{$key} in the document, " .
				"$header->{$key} in the header";
		}
	}
	return @found;
}

1;
