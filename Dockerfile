# The program, and nothing else. It is linked statically, also against the C library, which finds names by /etc/hosts and
# DNS without help from files of a distribution (glibc 2.34 or newer), so it runs on an empty image:
#
#   RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --target x86_64-unknown-linux-gnu
#   docker build -t bailiwick:0.1.0 .
#
# For another machine, say its target in both places (--build-arg TARGET=aarch64-unknown-linux-gnu). An empty image trusts no
# public authorities: for tokens of OpenID Connect issuers give --oidc-ca-file, or a base that has them (--build-arg BASE=...).
ARG BASE=scratch
FROM ${BASE}
ARG TARGET=x86_64-unknown-linux-gnu
COPY target/${TARGET}/release/bailiwick /bailiwick
USER 65532:65532
ENTRYPOINT ["/bailiwick"]
