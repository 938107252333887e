package proxy

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"sigs.k8s.io/knftables"

	"github.com/lifepod/lifepod/bundle"
)

// Table is the name of the nftables table of a root's services.
func Table(p bundle.Paths) string { return p.FilterTable() + tableSuffix }

// Check is whether service traffic is possible on this machine; the error says what
// is missing.
func Check() error {
	_, err := openTable("lifepod_check")
	return err
}

func openTable(name string) (knftables.Interface, error) {
	if _, err := exec.LookPath("nft"); err != nil {
		return nil, fmt.Errorf("service traffic needs the program nft: install the package nftables (apt-get install nftables, dnf install nftables): %w", err)
	}
	table, err := knftables.New(knftables.IPv4Family, name)
	if err != nil {
		return nil, fmt.Errorf("service traffic needs nftables 1.0.1 or later, and the right to use it: %w", err)
	}
	return named{table}, nil
}

// makeTable is the table, made when it isn't there.
func makeTable(ctx context.Context, name string) (knftables.Interface, error) {
	table, err := openTable(name)
	if err != nil {
		return nil, err
	}
	creation := table.NewTransaction()
	creation.Add(&knftables.Table{Comment: new("rules for kube-proxy")})
	if err := table.Run(ctx, creation); err != nil {
		return nil, fmt.Errorf("make the nftables table %s: %w", name, err)
	}
	return table, nil
}

// Remove removes a root's table, if there is one: no service of it is reachable then.
// On a machine without nft there is none.
func Remove(ctx context.Context, name string) error {
	if _, err := exec.LookPath("nft"); errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	table, err := openTable(name)
	if err != nil {
		return err
	}
	removal := table.NewTransaction()
	removal.Add(&knftables.Table{})
	removal.Delete(&knftables.Table{})
	if err := table.Run(ctx, removal); err != nil {
		return fmt.Errorf("remove the nftables table %s: %w", name, err)
	}
	return nil
}
