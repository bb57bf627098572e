# The aggregator, alone in its image: one static program, no shell, no root. docs/operate/run.md says how to run it.
FROM rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends musl-tools
RUN rustup target add "$(uname -m)-unknown-linux-musl"
WORKDIR /source
COPY . .
# What `--version --verbose` says: docker build --build-arg COMMIT="$(git rev-parse HEAD)".
ARG COMMIT=unknown
ENV LDP_PCA_COMMIT=$COMMIT
RUN cargo build --release --locked --package ldp-pca-cli --features tls,postgres \
        --target "$(uname -m)-unknown-linux-musl" \
    && install -D target/*-unknown-linux-musl/release/ldp-pca /image/ldp-pca \
    && install -d --mode 700 /image/data

FROM scratch
COPY --from=build /image/ldp-pca /ldp-pca
COPY --from=build --chown=65532:65532 /image/data /data
USER 65532:65532
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=15s --start-period=60s CMD ["/ldp-pca", "ready"]
ENTRYPOINT ["/ldp-pca"]
CMD ["serve", "--data", "/data", "--listen", "0.0.0.0:8080", "--log-format", "json"]
