package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/roster"
)

// HTTP is the source of the static pods of a URL (staticPodURL; B-STA-1): a Pod or a PodList, in YAML or
// JSON. A failure, or a body that makes no sense, leaves everything as it was; an empty body is one without
// pods.
type HTTP struct {
	URL string
	// Header goes with each request (staticPodURLHeader).
	Header   http.Header
	NodeName string
	// Period is the time between two requests (httpCheckFrequency); 0 is DefaultPeriod.
	Period time.Duration
	Feed   Feed
	// Client is nil for one that gives a request 10 s, as the kubelet does.
	Client *http.Client
	Record Record // nil if nobody wants to know
	Log    *slog.Logger
}

// Run tells the Feed until ctx ends.
func (h *HTTP) Run(ctx context.Context) {
	p := poll{source: h, client: h.Client, pods: newStaticPods(roster.URL, h.Feed), ignored: duplicates{origin: roster.URL, record: h.Record}}
	if p.client == nil {
		p.client = &http.Client{Timeout: 10 * time.Second}
	}
	tick := time.NewTicker(cmp.Or(h.Period, DefaultPeriod))
	defer tick.Stop()
	for ctx.Err() == nil {
		p.tell(ctx, p.once(ctx))
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// poll is where HTTP stands.
type poll struct {
	source   *HTTP
	client   *http.Client
	pods     *staticPods
	ignored  duplicates
	content  [32]byte // SHA-256 of the last body that was read
	etag     string   // and its name
	hasRead  bool     // whether there was one
	heard    bool
	failures int
}

// loudFailures is how many failures in a row are reported; further ones are for debugging (upstream).
const loudFailures = 4

func (p *poll) tell(ctx context.Context, err error) {
	log := p.source.Log.With("url", p.source.URL)
	switch {
	case ctx.Err() != nil:
	case err == nil && p.failures > 0:
		p.failures = 0
		log.Info("pods are read from the URL again")
	case err == nil:
	case p.failures < loudFailures:
		p.failures++
		log.Warn("pods can't be read from the URL", "err", err)
	default:
		log.Debug("pods can't be read from the URL", "err", err)
	}
}

// once asks for the pods and tells what has changed.
func (p *poll) once(ctx context.Context) error {
	data, etag, err := p.fetch(ctx)
	if err != nil || data == nil {
		return err
	}
	sum := sha256.Sum256(data)
	if !p.hasRead || sum != p.content {
		pods, ignored, err := p.read(data)
		if err != nil {
			return err
		}
		p.content, p.hasRead = sum, true
		p.ignored.become(ignored)
		p.pods.become(pods)
		p.hear()
	}
	p.etag = etag
	if len(data) == 0 {
		return fmt.Errorf("read pods from %s: the body is empty, which means no pods", p.source.URL)
	}
	return nil
}

func (p *poll) hear() {
	if !p.heard {
		p.heard = true
		p.source.Feed.Heard(roster.URL)
	}
}

// fetch gives the body, nil if it is the one that was read.
func (p *poll) fetch(ctx context.Context) (data []byte, etag string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.source.URL, nil)
	if err != nil {
		return nil, "", fmt.Errorf("read pods from %q: %w", p.source.URL, err)
	}
	if p.source.Header != nil {
		request.Header = p.source.Header.Clone()
	}
	if p.hasRead && p.etag != "" {
		request.Header.Set("If-None-Match", p.etag)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, "", fmt.Errorf("read pods: %w", err) // which names the URL
	}
	defer func() { _ = response.Body.Close() }() // only read
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return nil, "", nil
	default:
		return nil, "", fmt.Errorf("read pods from %s: %s", p.source.URL, response.Status)
	}
	data, err = io.ReadAll(io.LimitReader(response.Body, maxManifestBytes+1))
	if err != nil {
		return nil, "", fmt.Errorf("read pods from %s: %w", p.source.URL, err)
	}
	if len(data) > maxManifestBytes {
		return nil, "", fmt.Errorf("read pods from %s: the body is larger than %d MiB", p.source.URL, maxManifestBytes>>20)
	}
	return data, response.Header.Get("ETag"), nil
}

// read makes pods of a body, of which the later ones of one name are to be ignored. All
// others count, or none.
func (p *poll) read(data []byte) (pods, ignored []*v1.Pod, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil, nil
	}
	set, err := manifest.ReadStatic(manifest.Source{Name: p.source.URL, Data: data}, manifest.StaticOptions{NodeName: p.source.NodeName, FromURL: true})
	if err != nil {
		return nil, nil, fmt.Errorf("read pods: %w", err)
	}
	unique := newUnique()
	var errs []error
	for _, pod := range set.Pods {
		err := unique.join(pod, p.source.URL)
		if errors.As(err, &nameTaken{}) {
			ignored = append(ignored, pod)
			set.Warnings = append(set.Warnings, err.Error())
			continue
		}
		pods = append(pods, pod)
		errs = append(errs, err, manifest.Unsatisfied(pod, nil, nil))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if len(set.Warnings) > 0 {
		p.source.Log.Warn("static pods: "+strings.Join(set.Warnings, "\n"), "url", p.source.URL)
	}
	return pods, ignored, nil
}
