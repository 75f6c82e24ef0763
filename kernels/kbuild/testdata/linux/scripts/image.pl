# image.pl FILE VERSION OBJECT...: the header of a bzImage, as in
# Documentation/arch/x86/boot.rst at version 2.07, with the objects behind it.
use strict;
my ($file, $version, @objects) = @ARGV;
my $image = "\0" x (8 * 512);
substr($image, 0x1f1, 1) = chr(4);
substr($image, 0x1fe, 2) = pack('v', 0xaa55);
substr($image, 0x202, 4) = 'HdrS';
substr($image, 0x206, 2) = pack('v', 0x207);
substr($image, 0x20e, 2) = pack('v', 0x400 - 0x200);
substr($image, 0x400, length($version) + 1) = "$version\0";
for my $name (@objects) {
	open(my $in, '<:raw', $name) or die "$name: $!";
	local $/;
	$image .= <$in>;
}
open(my $out, '>:raw', $file) or die "$file: $!";
print $out $image;
close($out) or die "$file: $!\n";
