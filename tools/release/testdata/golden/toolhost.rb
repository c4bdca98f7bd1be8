class Toolhost < Formula
  desc "A project's tools for any AI agent: over MCP, on the command line, as schemas"
  homepage "https://github.com/toolhost/toolhost"
  version "1.2.3"
  license "MIT"

  on_macos do
    on_intel do
      url "https://github.com/toolhost/toolhost/releases/download/v1.2.3/toolhost_1.2.3_darwin_amd64.tar.gz"
      sha256 "5f9a13450d8ac399568c9ef540b596b09b6290d3bd42ac95683cc18f53e440f1"
    end
    on_arm do
      url "https://github.com/toolhost/toolhost/releases/download/v1.2.3/toolhost_1.2.3_darwin_arm64.tar.gz"
      sha256 "108190368082c61cab2f2e3200035a100d81c40fdb99bb7850528d6444477902"
    end
  end

  on_linux do
    on_intel do
      url "https://github.com/toolhost/toolhost/releases/download/v1.2.3/toolhost_1.2.3_linux_amd64.tar.gz"
      sha256 "e5e0c10632672990ded580b954fdfb80de27dd877e3e91a950be3159300d1275"
    end
    on_arm do
      url "https://github.com/toolhost/toolhost/releases/download/v1.2.3/toolhost_1.2.3_linux_arm64.tar.gz"
      sha256 "38964e65f21694134fbf9dc2c8b7144836b244e426daef527e5fbafb768e58c6"
    end
  end

  def install
    bin.install "bin/toolhost"
    (libexec/"toolhost").install Dir["libexec/toolhost/*"]
    File.write(libexec/"toolhost/channel", "homebrew toolhost\n")
    bash_completion.install "share/bash-completion/completions/toolhost"
    zsh_completion.install "share/zsh/site-functions/_toolhost"
    fish_completion.install "share/fish/vendor_completions.d/toolhost.fish"
  end

  test do
    assert_match "toolhost v#{version}", shell_output("#{bin}/toolhost version")
  end
end
