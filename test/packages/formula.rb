# Installs by a Homebrew formula without Homebrew, as Homebrew would on this system, and runs the formula's own test:
# ruby formula.rb FORMULA ARCHIVES PREFIX. What the formula downloads is taken from the directory ARCHIVES; its digest
# must be the one that the formula states.
require 'digest'
require 'fileutils'
require 'rbconfig'
require 'tmpdir'

# Formula is what a formula is a kind of: the words of which ours is made. An unknown word is an error.
class Formula
  LINUX = RbConfig::CONFIG['host_os'].include?('linux')
  ARM = RbConfig::CONFIG['host_cpu'] =~ /arm|aarch64/

  class << self
    attr_reader :found, :check

    def inherited(formula)
      super
      formula.instance_variable_set(:@found, {})
      @made = formula
    end

    def made = @made

    %i[desc homepage version license url sha256].each do |word|
      define_method(word) { |value| @found[word] = value }
    end

    def on_macos = LINUX || yield
    def on_linux = LINUX && yield
    def on_arm = ARM && yield
    def on_intel = ARM || yield
    def test(&block) = @check = block
  end

  # Place is a directory into which a formula installs; it is there when something is.
  Place = Struct.new(:path) do
    def to_s = path

    def install(files)
      FileUtils.mkdir_p(path)
      pairs = files.is_a?(Hash) ? files : Array(files).to_h { |f| [f, File.basename(f)] }
      raise "nothing to install into #{path}" if pairs.empty?

      pairs.each { |from, name| FileUtils.cp(from, File.join(path, name), preserve: true) }
    end
  end

  PLACES = {
    bin: 'bin', man1: 'share/man/man1', bash_completion: 'etc/bash_completion.d',
    zsh_completion: 'share/zsh/site-functions', fish_completion: 'share/fish/vendor_completions.d'
  }.freeze

  def initialize(prefix)
    @prefix = prefix
  end

  PLACES.each { |word, path| define_method(word) { Place.new(File.join(@prefix, path)) } }

  def version = self.class.found[:version]
  def shell_output(command) = IO.popen(command, &:read)
  def assert_match(part, text) = text.include?(part) || raise("#{text.inspect} has no #{part}")
end

formula, archives, prefix = ARGV
load formula
made = Formula.made
missing = %i[desc homepage version license url sha256] - made.found.keys
raise "the formula says no #{missing.join(', ')}" unless missing.empty?

archive = File.join(archives, File.basename(made.found[:url]))
digest = Digest::SHA256.file(archive).hexdigest
raise "#{archive} has the digest #{digest}" unless digest == made.found[:sha256]

Dir.mktmpdir do |unpacked|
  system('tar', '-xzf', archive, '-C', unpacked, exception: true)
  Dir.chdir(Dir[File.join(unpacked, '*')].first) { made.new(prefix).install }
end
made.new(prefix).instance_eval(&made.check)
