#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# The comparison of header.t notices every single number that is altered, on
# either side: each is altered in a copy, one after the other.
use strict;
use warnings;
use File::Temp 'tempdir';
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Numbers qw(document header differences);

my $root = "$FindBin::Bin/../..";
my $header = "$root/include/uapi/linux/kvm_pvperf.h";
my $document = "$root/docs/abi.md";
my $directory = tempdir(CLEANUP => 1);

my $right_header = header($header, '-m64');
my $right_document = document($document);
is(scalar(differences($right_document, $right_header)), 0,
   'unaltered, both agree');

my $document_text = Numbers::slurp($document);
my $header_text = Numbers::slurp($header);

sub copy_with {
	my ($name, $text) = @_;
	my $path = "$directory/$name";
	open my $file, '>', $path or die "$path: $!\n";
	print $file $text;
	close $file or die "$path: $!\n";
	return $path;
}

# A copy that is refused altogether has been noticed as well.
sub noticed {
	my ($compare) = @_;
	my @differences = eval { $compare->() };
	return $@ ne '' || @differences > 0;
}

sub document_altered {
	my ($text) = @_;
	my $copy = copy_with('abi.md', $text);
	return noticed(sub { differences(document($copy), $right_header) });
}

# The assertions in the header would stop the compiler before the comparison
# has its turn: it must do without them.
sub header_altered {
	my ($text) = @_;
	$text =~ s/^KVM_PVPERF_ASSERT_.*\n//gm;
	my $copy = copy_with('kvm_pvperf.h', $text);
	return noticed(sub { differences($right_document, header($copy, '-m64')) });
}

my @unnoticed;
my $alterations = 0;

sub alter {
	my ($what, $altered) = @_;
	$alterations++;
	push @unnoticed, $what unless $altered;
}

ok(!document_altered($document_text), 'an unaltered copy of the document passes');
ok(!header_altered($header_text), 'a copy of the header without assertions passes');

for my $name (grep { /^KVM_/ } sort keys %$right_document) {
	my $value = $right_document->{$name} + 1;
	(my $altered = $document_text) =~ s/(\| `$name` \| )\w+/$1$value/ or die $name;
	alter("$name altered", document_altered($altered));
	($altered = $document_text) =~ s/.*\| `$name` \|.*\n// or die $name;
	alter("$name removed", document_altered($altered));
}
for my $key (grep { / offset$/ } sort keys %$right_document) {
	my ($structure, $field) = $key =~ /^(\w+)\.(\w+) / or die $key;
	my $row = qr/(### `struct $structure`.*?\n\| )(\d+) \| (\d+)( \| `$field` \|)/s;
	(my $altered = $document_text) =~ s/$row/$1 . ($2 + 1) . " | $3$4"/e or die $key;
	alter("offset of $structure.$field altered", document_altered($altered));
	($altered = $document_text) =~ s/$row/"$1$2 | " . ($3 + 1) . $4/e or die $key;
	alter("size of $structure.$field altered", document_altered($altered));
}
for my $key (grep { /^sizeof/ } sort keys %$right_document) {
	my ($structure) = $key =~ /(\w+)$/;
	(my $altered = $document_text) =~ s/(`struct $structure`, )(\d+)/$1 . ($2 + 1)/e or die $key;
	alter("size of $structure altered", document_altered($altered));
}
cmp_ok($alterations, '>=', 150, 'the document was altered in many ways');
is(scalar(@unnoticed), 0, 'every one was noticed') or diag(join "\n", @unnoticed);

@unnoticed = ();
$alterations = 0;
for my $name (grep { /^KVM_/ } sort keys %$right_header) {
	(my $altered = $header_text) =~
		s/^(#define\s+$name\s+|\t$name\s+= )([^\t\n,]+)/$1($2 + 1)/m or die $name;
	alter("$name altered", header_altered($altered));
	($altered = $header_text) =~ s/\b$name\b/${name}_2/g or die $name;
	alter("$name renamed", header_altered($altered));
}
while ($header_text =~ /^(\t__u\d+ \w+)(\[\d+\])?;\n/gm) {
	my ($start, $end, $field) = ($-[0], $+[0], $1);
	my $altered = $header_text;
	substr($altered, $start, $end - $start) = '';
	alter("$field removed", header_altered($altered));
	$altered = $header_text;
	substr($altered, $start, 0) = "\t__u32 added;\n";
	alter("a field added before $field", header_altered($altered));
}
my $added = $header_text;
$added =~ s/^#define KVM_PVPERF_SLOTS\b/#define KVM_PVPERF_ADDED\t1\n$&/m or die;
alter('a constant added', header_altered($added));

cmp_ok($alterations, '>=', 100, 'the header was altered in many ways');
is(scalar(@unnoticed), 0, 'every one was noticed') or diag(join "\n", @unnoticed);

done_testing();
